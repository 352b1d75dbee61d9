import type { LlmError } from '../error.ts'
import { type GuardRule, noteOutcome } from './guard-rule.ts'
import { maskSteps } from './masker.ts'
import { type Effort, searchEffort } from './recognizers.ts'

/** The verdict of rules on a text. */
export type GuardedText =
  | { readonly text: string; readonly rejection?: undefined }
  | { readonly text?: undefined; readonly rejection: LlmError }

/**
 * Applies rules in order: each sees the output of the one before. Texts of one request share
 * `effort`.
 */
export function* guardTextSteps(
  text: string,
  rules: readonly GuardRule[],
  effort: Effort = searchEffort(),
): Generator<void, GuardedText> {
  let own = text
  for (const rule of rules) {
    const { recognizers, rejection } = rule
    const masked = yield* maskSteps(own, recognizers, effort)
    noteFound(rule, masked.found.length)
    if (masked.found.length === 0) continue
    if (rejection !== undefined) return { rejection }
    own = masked.text
  }
  return { text: own }
}

/** Records the outcome of a rule for one text. */
export function noteFound({ rejection, check }: GuardRule, found: number): void {
  if (check === undefined) return
  noteOutcome(check, found === 0 ? 'passed' : rejection === undefined ? 'masked' : 'rejected')
}
