import type { PeerSettings } from './peer-settings.ts'
import {
  ACK,
  FLOW_CONTROL_ERROR,
  FRAME_SIZE_ERROR,
  GOAWAY,
  MAX_STREAM,
  MAX_WINDOW,
  NO_ERROR,
  PING,
  PRIORITY,
  PRIORITY_UPDATE,
  PROTOCOL_ERROR,
  PUSH_PROMISE,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
} from './protocol.ts'

/** The effects of control frames on a connection. */
export interface ControlEvents {
  readonly peer: PeerSettings
  /** Whether the stream was never opened. */
  isIdle(id: number): boolean
  /** A stream error. */
  failStream(id: number, code: number): void
  /** The peer reset a stream. */
  wasReset(id: number, code: number): void
  /** The peer changed its settings; stream windows grow by `growth`. */
  changed(growth: number): number
  /** A priority frame arrived, whatever its content. */
  wished(): void
  /** The peer has acknowledged the settings. */
  acknowledged(): void
  /** The peer sent a PING, to be acknowledged. */
  pinged(bytes: Buffer, from: number): void
  /** The peer acknowledged a PING. */
  ponged(bytes: Buffer, from: number): void
  /** The peer accepts no streams after `last`. */
  wentAway(last: number, code: number): void
  /** The peer changed a stream's priority. Returns an error code, or NO_ERROR. */
  prioritized(id: number, value: string): number
  /**
   * The peer extended a window, of the connection or of a stream; returns false if it is too large.
   */
  grew(id: number, byteCount: number): boolean
}

/**
 * Reads a frame that is neither DATA nor part of a header block (RFC 9113 §6). Returns the code of
 * a connection error, or NO_ERROR; unknown frames are ignored (§5.5).
 */
export function readControlFrame(
  events: ControlEvents,
  type: number,
  flags: number,
  id: number,
  bytes: Buffer,
  from: number,
  end: number,
): number {
  const length = end - from
  switch (type) {
    case PRIORITY:
      return readPriority(events, id, bytes, from, length)
    case RST_STREAM:
      if (id === 0 || events.isIdle(id)) return PROTOCOL_ERROR
      if (length !== 4) return FRAME_SIZE_ERROR
      events.wasReset(id, bytes.readUInt32BE(from))
      return NO_ERROR
    case SETTINGS:
      return readSettings(events, id, flags, bytes, from, end)
    case PUSH_PROMISE:
      return PROTOCOL_ERROR
    case PING:
      if (id !== 0) return PROTOCOL_ERROR
      if (length !== 8) return FRAME_SIZE_ERROR
      if ((flags & ACK) === 0) events.pinged(bytes, from)
      else events.ponged(bytes, from)
      return NO_ERROR
    case GOAWAY:
      if (id !== 0) return PROTOCOL_ERROR
      if (length < 8) return FRAME_SIZE_ERROR
      events.wentAway(bytes.readUInt32BE(from) & MAX_STREAM, bytes.readUInt32BE(from + 4))
      return NO_ERROR
    case WINDOW_UPDATE:
      return length === 4 ? readWindowUpdate(events, id, bytes, from) : FRAME_SIZE_ERROR
    case PRIORITY_UPDATE:
      if (id !== 0) return PROTOCOL_ERROR
      if (length < 4) return FRAME_SIZE_ERROR
      events.wished()
      return events.prioritized(
        bytes.readUInt32BE(from) & MAX_STREAM,
        bytes.toString('latin1', from + 4, end),
      )
    default:
      return NO_ERROR
  }
}

/** §5.3.2: these priorities are deprecated; only their format is checked. */
function readPriority(
  events: ControlEvents,
  id: number,
  bytes: Buffer,
  from: number,
  length: number,
): number {
  if (id === 0) return PROTOCOL_ERROR
  events.wished()
  if (length !== 5) events.failStream(id, FRAME_SIZE_ERROR)
  else if ((bytes.readUInt32BE(from) & 0x7fffffff) === id) events.failStream(id, PROTOCOL_ERROR)
  return NO_ERROR
}

function readSettings(
  events: ControlEvents,
  id: number,
  flags: number,
  bytes: Buffer,
  from: number,
  end: number,
): number {
  if (id !== 0) return PROTOCOL_ERROR
  if ((flags & ACK) !== 0) {
    if (end > from) return FRAME_SIZE_ERROR
    events.acknowledged()
    return NO_ERROR
  }
  const { peer } = events
  const before = peer.window
  const error = peer.read(bytes, from, end)
  return error === NO_ERROR ? events.changed(peer.window - before) : error
}

function readWindowUpdate(events: ControlEvents, id: number, bytes: Buffer, from: number): number {
  const byteCount = bytes.readUInt32BE(from) & MAX_WINDOW
  if (id === 0) {
    if (byteCount === 0) return PROTOCOL_ERROR
    return events.grew(0, byteCount) ? NO_ERROR : FLOW_CONTROL_ERROR
  }
  if (events.isIdle(id)) return PROTOCOL_ERROR
  if (byteCount === 0) events.failStream(id, PROTOCOL_ERROR)
  else if (!events.grew(id, byteCount)) events.failStream(id, FLOW_CONTROL_ERROR)
  return NO_ERROR
}
