import type { PolicyPlace } from '../model/policy.ts'

/** A bug in the code of a policy: the thrown error, and the policy that threw it. */
export class PolicyError extends Error {
  readonly policy: PolicyPlace

  constructor(policy: PolicyPlace, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.policy = policy
  }
}

/** If several policies are nested, names the innermost. */
export function errorIn(policy: PolicyPlace | undefined, error: unknown): unknown {
  return policy === undefined || error instanceof PolicyError
    ? error
    : new PolicyError(policy, error)
}
