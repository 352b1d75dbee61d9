import * as z from 'zod'
import { expression } from './scalars.ts'
import { issue } from './shapes.ts'

/** A value of a policy, and the condition under which it applies. */
export interface Entry<T = unknown> {
  /** Absent: always. */
  readonly condition?: string
  readonly value: T
}

/** Alternative values of a policy; the first whose condition applies is used. */
export interface Conditional<T = unknown> {
  readonly conditional: readonly Entry<T>[]
}

export function isConditional(value: unknown): value is Conditional {
  return typeof value === 'object' && value !== null && 'conditional' in value
}

/** All values that a policy can have. */
export function valuesOf(value: unknown): readonly unknown[] {
  return isConditional(value) ? value.conditional.map((entry) => entry.value) : [value]
}

/** All values that a policy can have, with their conditions. */
export function entriesIn(value: unknown): readonly Entry[] {
  return isConditional(value) ? value.conditional : [{ value }]
}

/** Whether the policy applies to every request, with whichever of its values. */
export function appliesAlways(value: unknown): boolean {
  return !isConditional(value) || value.conditional.at(-1)?.condition === undefined
}

/**
 * The key `condition` of an entry. If the policy restricts access, the condition must be
 * deterministic.
 */
export const conditionOf = (guards: boolean) => ({
  condition: expression(guards ? 'rule' : 'bool')
    .optional()
    .describe(
      'When the entry applies. Optional in the last entry, which then applies to all other requests.',
    ),
})

/** The list of `conditional`; only the last entry may omit its condition. */
export function entriesOf<E extends z.ZodType<{ readonly condition?: string | undefined }>>(
  entry: E,
) {
  return z
    .array(entry)
    .min(1)
    .max(64)
    .check(({ value, issues }) => {
      const index = value.findIndex(({ condition }) => condition === undefined)
      if (index < 0 || index === value.length - 1) return
      const params = {
        rule: 'missing',
        hint: 'add `condition`, or move the entry to the end',
      } as const
      const message = 'only the last entry can omit `condition`: later entries would never apply'
      issues.push(issue(value, message, params, [index]))
    })
}

/** A policy in its plain form, or `conditional` with entries. */
export function orConditional<T extends z.ZodType, E extends z.ZodType<Entry>>(plain: T, entry: E) {
  const listed = z.strictObject({
    conditional: entriesOf(entry).describe(
      'Alternatives: the first entry whose condition is true applies, if any.',
    ),
  })
  return z.union([plain, listed]).describe(plain.description ?? '')
}

/** An entry with this value and condition. */
export function toEntry<T>(condition: string | undefined, value: T): Entry<T> {
  return condition === undefined ? { value } : { condition, value }
}
