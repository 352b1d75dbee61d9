/** Frame types (RFC 9113 §6). */
export const DATA = 0
export const HEADERS = 1
export const PRIORITY = 2
export const RST_STREAM = 3
export const SETTINGS = 4
export const PUSH_PROMISE = 5
export const PING = 6
export const GOAWAY = 7
export const WINDOW_UPDATE = 8
export const CONTINUATION = 9
/** RFC 9218 §7.1 */
export const PRIORITY_UPDATE = 16

export const END_STREAM = 0x1
export const ACK = 0x1
export const END_HEADERS = 0x4
export const PADDED = 0x8
export const HAS_PRIORITY = 0x20

/** Error codes (RFC 9113 §7). */
export const NO_ERROR = 0
export const PROTOCOL_ERROR = 1
export const INTERNAL_ERROR = 2
export const FLOW_CONTROL_ERROR = 3
export const STREAM_CLOSED = 5
export const FRAME_SIZE_ERROR = 6
export const REFUSED_STREAM = 7
export const CANCEL = 8
export const COMPRESSION_ERROR = 9
export const ENHANCE_YOUR_CALM = 11

/** Settings (RFC 9113 §6.5.2). */
export const HEADER_TABLE_SIZE = 1
export const ENABLE_PUSH = 2
export const MAX_CONCURRENT_STREAMS = 3
export const INITIAL_WINDOW_SIZE = 4
export const MAX_FRAME_SIZE = 5
export const MAX_HEADER_LIST_SIZE = 6
/** RFC 8441 §3 */
export const ENABLE_CONNECT_PROTOCOL = 8
/** RFC 9218 §2.1 */
export const NO_RFC7540_PRIORITIES = 9

/** Length of a frame header. */
export const FRAME_HEAD = 9
/** The initial values of both sides, until they announce others. */
export const DEFAULT_WINDOW = 65_535
export const MIN_FRAME = 16_384
export const MAX_FRAME = 16_777_215
export const MAX_WINDOW = 0x7fffffff
export const MAX_STREAM = 0x7fffffff
