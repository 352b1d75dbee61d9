import type { RefusalWord } from '../http1/rejections.ts'
import type { ResetReason } from './limits.ts'
import { CANCEL, FLOW_CONTROL_ERROR, PROTOCOL_ERROR, STREAM_CLOSED } from './protocol.ts'

const REASONS: Readonly<Record<number, ResetReason>> = {
  [CANCEL]: 'timeout',
  [FLOW_CONTROL_ERROR]: 'malformed',
  [PROTOCOL_ERROR]: 'malformed',
  [STREAM_CLOSED]: 'malformed',
}

export function resetReason(code: number): ResetReason {
  return REASONS[code] ?? 'aborted'
}

/** Fields that no message of HTTP/2 may have: RFC 9113 §8.1.1 makes them an error of the stream. */
const MALFORMED: ReadonlySet<string> = new Set<RefusalWord>([
  'bad-header-name',
  'bad-header-value',
  'bad-connection',
  'bad-method',
  'bad-target',
  'bare-cr',
  'bare-lf',
  'duplicate-host',
  'host-mismatch',
  'nul',
  'truncated-body',
])

export function isMalformed(word: RefusalWord): boolean {
  return MALFORMED.has(word)
}
