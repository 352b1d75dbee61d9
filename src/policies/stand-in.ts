import type { ValidPolicy } from '../model/policy.ts'

const ORIGINALS = new WeakMap<ValidPolicy, ValidPolicy>()

/** The policy with another value: one of its possible values. */
export function standIn(policy: ValidPolicy, value: unknown): ValidPolicy {
  const made = { ...policy, value }
  ORIGINALS.set(made, policy)
  return made
}

/** The policy of the Model, which identifies it in scopes. */
export function originalOf(policy: ValidPolicy): ValidPolicy {
  return ORIGINALS.get(policy) ?? policy
}
