import { compilePattern } from '../../../cel/library/regex-pattern.ts'
import type { LlmError } from '../error.ts'
import type { Recognizer } from './recognizers.ts'

/** Texts of some form, and what becomes of them. */
export interface GuardRule {
  readonly recognizers: readonly Recognizer[]
  /** Undefined: what is found is masked. */
  readonly rejection: LlmError | undefined
}

/** Somebody else decides, who takes time. */
export interface RemoteGuard {
  /** As many texts as there are, in their order; or why the call is rejected. Never throws. */
  judge(messages: readonly GuardedMessage[]): Promise<readonly string[] | LlmError>
}

export interface GuardedMessage {
  readonly role: string
  readonly content: string
}

export type Guard = GuardRule | RemoteGuard

export function isRemote(guard: Guard): guard is RemoteGuard {
  return 'judge' in guard
}

/** In a stream, so many letters are held back; a longer match is masked piece by piece. */
const MAX_LENGTH = 256

/** Of a regular expression that somebody wrote. It may match anything, so no text is cut early. */
export function patternRecognizer(pattern: string, name: string): Recognizer {
  const compiled = compilePattern(pattern)
  return {
    name,
    mask: `<${name}>`,
    maxLength: MAX_LENGTH,
    crossesBreaks: true,
    find(text, from, effort) {
      for (let at = from; at <= text.length; ) {
        const found = compiled?.find(text, at, effort)
        if (found === null) return undefined
        // What cannot be searched is not known to be harmless.
        if (found === undefined) return { start: from, end: text.length }
        const [start = 0, end = 0] = found
        if (end > start) return { start, end }
        at = end + 1
      }
      return undefined
    },
  }
}
