import {
  DEFAULT_WINDOW,
  ENABLE_CONNECT_PROTOCOL,
  ENABLE_PUSH,
  FLOW_CONTROL_ERROR,
  FRAME_SIZE_ERROR,
  HEADER_TABLE_SIZE,
  INITIAL_WINDOW_SIZE,
  MAX_CONCURRENT_STREAMS,
  MAX_FRAME,
  MAX_FRAME_SIZE,
  MAX_WINDOW,
  MIN_FRAME,
  NO_ERROR,
  NO_RFC7540_PRIORITIES,
  PROTOCOL_ERROR,
} from './protocol.ts'

/** The settings that the peer announced (RFC 9113 §6.5.2). */
export class PeerSettings {
  tableSize = 4_096
  window = DEFAULT_WINDOW
  frame = MIN_FRAME
  /** Max concurrent streams that it accepts. */
  streams = Number.POSITIVE_INFINITY
  /** RFC 8441 §3: whether it supports extended CONNECT. */
  allowsConnect = false
  readonly #role: 'client' | 'server'

  constructor(role: 'client' | 'server') {
    this.#role = role
  }

  /** Reads the payload of a SETTINGS frame; returns an error code, or NO_ERROR. */
  read(bytes: Buffer, from: number, end: number): number {
    if ((end - from) % 6 !== 0) return FRAME_SIZE_ERROR
    for (let at = from; at < end; at += 6) {
      const error = this.#set(bytes.readUInt16BE(at), bytes.readUInt32BE(at + 2))
      if (error !== NO_ERROR) return error
    }
    return NO_ERROR
  }

  #set(id: number, value: number): number {
    if (id === HEADER_TABLE_SIZE) this.tableSize = value
    else if (id === INITIAL_WINDOW_SIZE) {
      if (value > MAX_WINDOW) return FLOW_CONTROL_ERROR
      this.window = value
    } else if (id === MAX_FRAME_SIZE) {
      if (value < MIN_FRAME || value > MAX_FRAME) return PROTOCOL_ERROR
      this.frame = value
    } else if (id === MAX_CONCURRENT_STREAMS) this.streams = value
    else if (id === ENABLE_CONNECT_PROTOCOL) {
      if (value > 1) return PROTOCOL_ERROR
      this.allowsConnect ||= value === 1
    }
    // RFC 9218 §2.1
    else if (id === NO_RFC7540_PRIORITIES && value > 1) return PROTOCOL_ERROR
    // §6.5.2: a server must not enable push.
    else if (id === ENABLE_PUSH && value > (this.#role === 'client' ? 1 : 0)) return PROTOCOL_ERROR
    return NO_ERROR
  }
}
