import type { ValidPolicy } from '../model/policy.ts'

const ORIGINALS = new WeakMap<ValidPolicy, ValidPolicy>()

/** The policy with another value: one of several that it may have. */
export function standIn(policy: ValidPolicy, value: unknown): ValidPolicy {
  const made = { ...policy, value }
  ORIGINALS.set(made, policy)
  return made
}

/** The policy of the Model: what others know who asks by. */
export function originalOf(policy: ValidPolicy): ValidPolicy {
  return ORIGINALS.get(policy) ?? policy
}
