import { constants } from 'node:http2'
import type { RefusalWord } from '../http1/refusals.ts'
import type { ResetReason } from './limits.ts'

const REASONS: Readonly<Record<number, ResetReason>> = {
  [constants.NGHTTP2_CANCEL]: 'timeout',
  [constants.NGHTTP2_PROTOCOL_ERROR]: 'malformed',
}

export function resetReason(code: number): ResetReason {
  return REASONS[code] ?? 'aborted'
}

/** Fields that no message of HTTP/2 may have: RFC 9113 §8.1.1 makes them an error of the stream. */
const MALFORMED: ReadonlySet<string> = new Set<RefusalWord>([
  'bad-header-name',
  'bad-header-value',
  'bad-connection',
  'bare-cr',
  'bare-lf',
  'nul',
])

export function isMalformed(word: RefusalWord): boolean {
  return MALFORMED.has(word)
}
