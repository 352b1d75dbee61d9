import { createHash } from 'node:crypto'
import type { Variables } from '../cel/index.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { CompileContext } from './define.ts'
import { textOf } from './value-text.ts'

/** The key under which a request is counted. */
export type KeyOf = (variables: Variables) => string

const allTogether: KeyOf = () => ''

/** Requests without a value share one key, so that omitting the value does not bypass the limit. */
const WITHOUT_VALUE = '-'
const MAX_KEY = 128

/** Absent: all requests share one key. */
export function compileLimitKey(
  text: string | undefined,
  field: string,
  policy: ValidPolicy,
  context: CompileContext,
): KeyOf {
  if (text === undefined) return allTogether
  const evaluate = context.compile(text, { policy, field, result: 'any' })?.evaluate()
  return (variables) => {
    const value = textOf(evaluate?.(variables))
    if (value === undefined) return WITHOUT_VALUE
    if (value.length <= MAX_KEY) return `=${value}`
    // Clients choose keys: the size of stored keys is bounded, and they must not collide.
    return `#${createHash('sha256').update(value).digest('base64')}`
  }
}
