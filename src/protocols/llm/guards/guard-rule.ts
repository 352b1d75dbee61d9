import { compilePattern } from '../../../cel/library/regex-pattern.ts'
import { runToCompletion } from '../../../model/steps.ts'
import type { LlmError } from '../error.ts'
import { type Effort, type Recognizer, type Span, searchEffort } from './recognizers.ts'

/** Texts that a guard looks for, and what happens to them. */
export interface GuardRule {
  readonly recognizers: readonly Recognizer[]
  /** If undefined, matches are masked. */
  readonly rejection: LlmError | undefined
  /** The check of one call; undefined if outcomes are not recorded. */
  readonly check?: GuardCheck | undefined
}

const OUTCOMES = ['passed', 'masked', 'rejected', 'error'] as const
export type GuardOutcome = (typeof OUTCOMES)[number]

/** The outcome of a guard in one call; undefined if it had no text to inspect. */
export interface GuardCheck {
  readonly policy: string
  readonly phase: 'request' | 'response'
  outcome: GuardOutcome | undefined
}

/** The worst outcome of all texts counts. */
export function noteOutcome(check: GuardCheck | undefined, outcome: GuardOutcome): void {
  if (check === undefined) return
  const { outcome: known } = check
  if (known === undefined || OUTCOMES.indexOf(known) < OUTCOMES.indexOf(outcome)) {
    check.outcome = outcome
  }
}

/** A guard that waits for the decision of a service. */
export interface RemoteGuard {
  /** Returns one text per message, in order, or why the call is rejected. Never throws. */
  judge(messages: readonly GuardedMessage[]): Promise<readonly string[] | LlmError>
}

export interface GuardedMessage {
  readonly role: string
  readonly content: string
  /** Texts with the same number are parts of one message, which a model reads as one text. */
  readonly message?: number | undefined
  /** The name of a member in the data of a tool. */
  readonly isName?: boolean | undefined
  /** Arguments that a model writes for a tool: a mask would change what the tool does. */
  readonly isArguments?: boolean | undefined
}

export type Guard = GuardRule | RemoteGuard

export function isRemote(guard: Guard): guard is RemoteGuard {
  return 'judge' in guard
}

/** In a stream, this many characters are held back; a longer match is masked piece by piece. */
const MAX_LENGTH = 256

/** For a user-defined regular expression. It may match anything, so no text is cut early. */
export function patternRecognizer(pattern: string, name: string): Recognizer {
  const compiled = compilePattern(withAnySpaces(pattern)) ?? compilePattern(pattern)
  const rarest = longestWord(pattern)
  function* findSteps(
    text: string,
    from: number,
    effort: Effort,
  ): Generator<void, Span | undefined> {
    if (rarest !== undefined && !text.includes(rarest, from)) return undefined
    for (let at = from; at <= text.length; ) {
      const found = compiled === undefined ? 'spent' : yield* compiled.findSteps(text, at, effort)
      if (found === null) return undefined
      // Text that cannot be searched is not known to be harmless.
      if (found === 'spent') return { start: from, end: text.length }
      if (found.end > found.start) return found
      at = found.end + 1
    }
    return undefined
  }
  return {
    name,
    mask: `<${name}>`,
    maxLength: MAX_LENGTH,
    crossesBreaks: true,
    find: (text, from, effort = searchEffort()) => runToCompletion(findSteps(text, from, effort)),
    findSteps,
  }
}

/** Where a pattern has a space, a text may have several, or a line end. */
export function withAnySpaces(pattern: string): string {
  return pattern.replace(TOKENS, (token) => (token === ' ' ? '(?:\\s+)' : token))
}

/** Quoted text, an escape, a class, a group's beginning, or one character. */
const TOKENS = /\\Q[\s\S]*?(?:\\E|$)|\\[\s\S]|\[\^?\]?(?:\[:\^?\w+:\]|\\[\s\S]|[^\]])*\]|[\s\S]/g

/** Of a pattern that is words: one of them is looked for first, which takes far less. */
function longestWord(pattern: string): string | undefined {
  if (!/^[\w ,:;@%&#"'<>=!~`/-]+$/.test(pattern)) return undefined
  const words = pattern.split(' ').sort((a, b) => b.length - a.length)
  return words[0] || undefined
}
