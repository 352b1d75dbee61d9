import { REQUEST_SLICE, runCooperatively, runToCompletion } from '../../../model/steps.ts'
import type { LlmError } from '../error.ts'
import { STEP } from './candidates.ts'
import {
  type Guard,
  type GuardedMessage,
  type GuardRule,
  isRemote,
  type RemoteGuard,
} from './guard-rule.ts'
import { guardTextSteps } from './guard-text.ts'
import { maskBorders } from './joined-texts.ts'
import { type Effort, searchEffort } from './recognizers.ts'

/**
 * Returns the texts of a message after all guards, each of which sees the output of the one before.
 * Other requests get their turn while the gateway waits for services, and between steps of a long
 * search.
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
      ? await judgedBy(guard, messages, own)
      : await runCooperatively(
          guardAll(own, messages, guard, effort),
          () => performance.now(),
          REQUEST_SLICE,
        )
    if ('status' in guarded) return guarded
    texts = guarded
  }
  return texts
}

/** The synchronous version, for guards that need no service. */
export function guardMessagesNow(
  messages: readonly GuardedMessage[],
  rules: readonly GuardRule[],
): readonly string[] | LlmError {
  const effort = searchEffort()
  let texts: readonly string[] | LlmError = messages.map(({ content }) => content)
  for (const rule of rules) {
    texts = runToCompletion(guardAll(texts, messages, rule, effort))
    if ('status' in texts) return texts
  }
  return texts
}

/** A service gets no names of members that are words, like those that a program chooses. */
async function judgedBy(
  guard: RemoteGuard,
  messages: readonly GuardedMessage[],
  texts: readonly string[],
): Promise<readonly string[] | LlmError> {
  const places = messages.flatMap(({ isName }, at) =>
    isName === true && WORD.test(texts[at] ?? '') ? [] : [at],
  )
  const own = places.map((at) => ({ role: messages[at]?.role ?? '', content: texts[at] ?? '' }))
  const judged = await guard.judge(own)
  if (!Array.isArray(judged)) return judged
  const all = [...texts]
  for (const [index, at] of places.entries()) all[at] = judged[index] ?? ''
  return all
}

const WORD = /^[\w.-]{1,64}$/

/** Groups texts that are parts of one message, if it has several. */
function partsOf(messages: readonly GuardedMessage[]): readonly (readonly number[])[] {
  const parts = new Map<number, number[]>()
  for (const [at, { message }] of messages.entries()) {
    if (message === undefined) continue
    const known = parts.get(message)
    if (known === undefined) parts.set(message, [at])
    else known.push(at)
  }
  return [...parts.values()].filter(({ length }) => length > 1)
}

/** The cost of a text in addition to its characters, in characters. */
const EACH_TEXT = 64

function* guardAll(
  given: readonly string[],
  messages: readonly GuardedMessage[],
  rule: GuardRule,
  effort: Effort,
): Generator<void, readonly string[] | LlmError> {
  const guarded: string[] = []
  let letters = 0
  const isMask = rule.rejection === undefined
  for (const [at, one] of given.entries()) {
    if (isMask && messages[at]?.isArguments === true) {
      guarded.push(one)
      continue
    }
    const { text, rejection } = yield* guardTextSteps(one, [rule], effort)
    if (rejection !== undefined) return rejection
    guarded.push(text)
    letters += one.length + EACH_TEXT
    if (letters < STEP) continue
    letters = 0
    yield
  }
  for (const places of partsOf(messages)) {
    const own = places.map((at) => guarded[at] ?? '')
    const { texts, isFound } = yield* maskBorders(own, rule, effort)
    if (!isFound) continue
    if (rule.rejection !== undefined) return rule.rejection
    for (const [index, at] of places.entries()) guarded[at] = texts[index] ?? ''
  }
  return guarded
}
