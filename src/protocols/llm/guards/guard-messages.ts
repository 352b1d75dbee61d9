import type { LlmError } from '../error.ts'
import { type Guard, type GuardedMessage, isRemote } from './guard-rule.ts'
import { searchEffort } from './masker.ts'
import { guardText } from './response-guard.ts'

/** The texts of a message after all guards, each of which sees what the one before left. */
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
      : guardAll(own, guard, effort)
    if (!Array.isArray(guarded)) return guarded as LlmError
    texts = guarded
  }
  return texts
}

function guardAll(
  texts: readonly string[],
  rule: Exclude<Guard, { judge: unknown }>,
  effort: ReturnType<typeof searchEffort>,
) {
  const guarded: string[] = []
  for (const one of texts) {
    const { text, rejection } = guardText(one, [rule], effort)
    if (rejection !== undefined) return rejection
    guarded.push(text)
  }
  return guarded
}
