import { DATA, HEADERS, RST_STREAM } from '../proxy/http2-gateway.ts'

const GOAWAY = 7
const CONTINUATION = 9
const END_STREAM = 1
const PADDED = 8
/** The lowest limit that a peer may set; no body in these tests needs a larger frame. */
const MAX_FRAME = 16_384

/** The frames that one side of a connection sent, limited to requests and their ends. */
export interface Served {
  /** The code of the first RST_STREAM of each stream. */
  readonly resets: ReadonlyMap<number, number>
  /** The code of the GOAWAY that reports an error, if there was one. */
  readonly error: number | undefined
  /** Bytes of bodies. */
  readonly sent: ReadonlyMap<number, number>
  readonly ended: ReadonlySet<number>
  /** Frames that no endpoint may send (RFC 9113 §5.1, §6.1, §6.10). */
  readonly illegal: readonly string[]
}

/** Reads frames as a strict peer would. */
export function readServed(bytes: Buffer): Served {
  const resets = new Map<number, number>()
  const sent = new Map<number, number>()
  const ended = new Set<number>()
  const begun = new Set<number>()
  const illegal: string[] = []
  let error: number | undefined
  let unfinished = 0
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    const [length, type, flags] = [bytes.readUIntBE(at, 3), bytes[at + 3], bytes[at + 4] ?? 0]
    const id = bytes.readUInt32BE(at + 5)
    const isMessage = type === DATA || type === HEADERS
    if (length > MAX_FRAME) illegal.push(`${length} bytes in a frame of ${id}`)
    if (unfinished !== 0 && (type !== CONTINUATION || id !== unfinished))
      illegal.push(`type ${type} in the head of ${unfinished}`)
    if (isMessage && (ended.has(id) || resets.has(id))) illegal.push(`more of ${id} after its end`)
    if (type === DATA && !begun.has(id)) illegal.push(`a body of ${id} without a head`)
    if (type === HEADERS) begun.add(id)
    if (type === HEADERS || type === CONTINUATION) unfinished = (flags & 4) === 0 ? id : 0
    if (type === DATA) {
      const padding = (flags & PADDED) === 0 ? 0 : (bytes[at + 9] ?? 0) + 1
      sent.set(id, (sent.get(id) ?? 0) + length - padding)
    }
    if (isMessage && (flags & END_STREAM) !== 0) ended.add(id)
    if (type === RST_STREAM && !resets.has(id)) resets.set(id, bytes.readUInt32BE(at + 9))
    if (type === GOAWAY) error = bytes.readUInt32BE(at + 13) || error
  }
  return { resets, error, sent, ended, illegal }
}
