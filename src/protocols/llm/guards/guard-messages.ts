import { REQUEST_SLICE, runCooperatively } from '../../../model/steps.ts'
import type { LlmError } from '../error.ts'
import { STEP } from './candidates.ts'
import { type Guard, type GuardedMessage, type GuardRule, isRemote } from './guard-rule.ts'
import { type Effort, searchEffort } from './recognizers.ts'
import { guardTextSteps } from './response-guard.ts'

/**
 * The texts of a message after all guards, each of which sees what the one before left. Other
 * requests have their turn while services are waited for, and between steps of a long search.
 */
export async function guardMessages(
  messages: readonly GuardedMessage[],
  guards: readonly Guard[],
): Promise<readonly string[] | LlmError> {
  const effort = searchEffort()
  let texts: readonly string[] = messages.map(({ content }) => content)
  for (const guard of guards) {
    const own = texts
    const guarded = isRemote(guard)
      ? await guard.judge(messages.map(({ role }, at) => ({ role, content: own[at] ?? '' })))
      : await runCooperatively(guardAll(own, guard, effort), () => performance.now(), REQUEST_SLICE)
    if (!Array.isArray(guarded)) return guarded as LlmError
    texts = guarded
  }
  return texts
}

/** What a text costs besides its letters, in letters. */
const EACH_TEXT = 64

function* guardAll(
  texts: readonly string[],
  rule: GuardRule,
  effort: Effort,
): Generator<void, readonly string[] | LlmError> {
  const guarded: string[] = []
  let letters = 0
  for (const one of texts) {
    const { text, rejection } = yield* guardTextSteps(one, [rule], effort)
    if (rejection !== undefined) return rejection
    guarded.push(text)
    letters += one.length + EACH_TEXT
    if (letters < STEP) continue
    letters = 0
    yield
  }
  return guarded
}
