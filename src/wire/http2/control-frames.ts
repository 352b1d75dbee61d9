import type { PeerSettings } from './peer-settings.ts'
import {
  ACK,
  FLOW_CONTROL_ERROR,
  FRAME_SIZE_ERROR,
  GOAWAY,
  LARGEST_STREAM,
  LARGEST_WINDOW,
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

/** What control frames do to a connection. */
export interface ControlEvents {
  readonly peer: PeerSettings
  /** Whether a stream of that number was never opened. */
  isIdle(id: number): boolean
  /** An error of one stream. */
  failStream(id: number, code: number): void
  /** The peer broke a stream off. */
  wasReset(id: number, code: number): void
  /** The peer changed its settings; it is by so much that windows of streams grow. */
  changed(growth: number): number
  /** A frame about priorities came, whatever it says. */
  wished(): void
  /** The peer has taken our settings. */
  acknowledged(): void
  /** A PING of the peer's, to be acknowledged. */
  pinged(bytes: Buffer, from: number): void
  /** The response to one of ours. */
  ponged(bytes: Buffer, from: number): void
  /** The peer takes no streams behind `last`. */
  wentAway(last: number, code: number): void
  /** The peer has another wish for a stream. Returns the error that this is, or NO_ERROR. */
  prioritized(id: number, value: string): number
  /** More room on the whole connection, or on a stream; false where that is more than can be. */
  grew(id: number, byteCount: number): boolean
}

/**
 * Reads a frame that is neither DATA nor part of a header block (RFC 9113 §6). Returns the error of
 * the connection that it is, or NO_ERROR; what is not known is ignored (§5.5).
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
      events.wentAway(bytes.readUInt32BE(from) & LARGEST_STREAM, bytes.readUInt32BE(from + 4))
      return NO_ERROR
    case WINDOW_UPDATE:
      return length === 4 ? readWindowUpdate(events, id, bytes, from) : FRAME_SIZE_ERROR
    case PRIORITY_UPDATE:
      if (id !== 0) return PROTOCOL_ERROR
      if (length < 4) return FRAME_SIZE_ERROR
      events.wished()
      return events.prioritized(
        bytes.readUInt32BE(from) & LARGEST_STREAM,
        bytes.toString('latin1', from + 4, end),
      )
    default:
      return NO_ERROR
  }
}

/** §5.3.2: priorities of that kind are read no further than their form. */
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
  const byteCount = bytes.readUInt32BE(from) & LARGEST_WINDOW
  if (id === 0) {
    if (byteCount === 0) return PROTOCOL_ERROR
    return events.grew(0, byteCount) ? NO_ERROR : FLOW_CONTROL_ERROR
  }
  if (events.isIdle(id)) return PROTOCOL_ERROR
  if (byteCount === 0) events.failStream(id, PROTOCOL_ERROR)
  else if (!events.grew(id, byteCount)) events.failStream(id, FLOW_CONTROL_ERROR)
  return NO_ERROR
}
