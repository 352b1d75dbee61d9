import type { RejectionWord } from '../http1/rejections.ts'
import type { ConnectionError, ResetReason } from './limits.ts'
import {
  CANCEL,
  COMPRESSION_ERROR,
  FLOW_CONTROL_ERROR,
  FRAME_SIZE_ERROR,
  PROTOCOL_ERROR,
  STREAM_CLOSED,
} from './protocol.ts'

const REASONS: Readonly<Record<number, ResetReason>> = {
  [CANCEL]: 'timeout',
  [FLOW_CONTROL_ERROR]: 'malformed',
  [PROTOCOL_ERROR]: 'malformed',
  [STREAM_CLOSED]: 'malformed',
}

export function resetReason(code: number): ResetReason {
  return REASONS[code] ?? 'aborted'
}

const ERRORS: Readonly<Record<number, ConnectionError>> = {
  [COMPRESSION_ERROR]: 'compression',
  [FLOW_CONTROL_ERROR]: 'flow-control',
  [FRAME_SIZE_ERROR]: 'frame-size',
  [PROTOCOL_ERROR]: 'protocol',
  [STREAM_CLOSED]: 'stream-closed',
}

/** Undefined if the reason was an exceeded limit. */
export function connectionError(code: number): ConnectionError | undefined {
  return ERRORS[code]
}

/** Fields that no HTTP/2 message may have: RFC 9113 §8.1.1 makes them a stream error. */
const MALFORMED: ReadonlySet<string> = new Set<RejectionWord>([
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

export function isMalformed(word: RejectionWord): boolean {
  return MALFORMED.has(word)
}
