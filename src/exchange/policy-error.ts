import type { PolicyPlace } from '../model/policy.ts'

/** An error of ours in the code of a policy: what was thrown, and which policy it came from. */
export class PolicyError extends Error {
  readonly policy: PolicyPlace

  constructor(policy: PolicyPlace, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.policy = policy
  }
}

/** The innermost policy is the one to name. */
export function errorIn(policy: PolicyPlace | undefined, error: unknown): unknown {
  return policy === undefined || error instanceof PolicyError
    ? error
    : new PolicyError(policy, error)
}
