import { createHash } from 'node:crypto'
import type { Variables } from '../cel/index.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { CompileContext } from './define.ts'
import { textOf } from './value-text.ts'

/** Whose requests are counted together. */
export type KeyOf = (variables: Variables) => string

const allTogether: KeyOf = () => ''

/** Requests for which there is no value are one client, so that to send none is no way around. */
const WITHOUT_VALUE = '-'
const LONGEST_KEY = 128

/** Absent: all are one. */
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
    if (value.length <= LONGEST_KEY) return `=${value}`
    // Clients choose keys: what is remembered of each is bounded, and must not collide.
    return `#${createHash('sha256').update(value).digest('base64')}`
  }
}
