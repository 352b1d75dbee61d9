/** The content of a TLS client's first message, before anything is encrypted. */
export interface ClientHello {
  /** In lower case without a trailing dot; undefined if there is none. */
  readonly serverName: string | undefined
  readonly alpn: readonly string[]
  /** The supported versions, as protocol numbers (0x0304 is TLS 1.3). */
  readonly versions: readonly number[]
}

/** `more`: the bytes so far are incomplete. Bytes are never consumed: TLS reads them again. */
export type HelloOutcome = 'more' | 'not-tls' | 'malformed' | ClientHello

/**
 * Enough for several kinds of keys and a long ticket; no more is buffered for an unknown client.
 */
export const MAX_HELLO = 16_384
/** The same with record headers, of which there may be one for every other byte. */
const MAX_WIRE = 65_536

const HANDSHAKE_RECORD = 22
const CLIENT_HELLO = 1
const RECORD_HEAD = 5
const MESSAGE_HEAD = 4
const MAX_FRAGMENT = 16_384

/**
 * Reads a ClientHello from the bytes of a connection, which may arrive in any portions and be
 * spread over any number of records. RFC 8446 §4.1.2 and §5.1, RFC 6066 §3, RFC 7301. Never throws.
 * A message that two parsers could read as two different names is malformed.
 */
export class HelloReader {
  /** The message without record headers, as far as received. */
  #message = NO_BYTES
  #length = 0
  /** The position in the connection's bytes, and the remaining bytes of the current record. */
  #at = 0
  #left = 0

  /** Takes all bytes since the beginning; reads only the new ones. */
  read(bytes: Uint8Array): HelloOutcome {
    return (this.#at === 0 && readAtOnce(bytes)) || this.#readOn(bytes)
  }

  #readOn(bytes: Uint8Array): HelloOutcome {
    for (;;) {
      if (this.#left === 0) {
        const left = recordLength(bytes, this.#at)
        // A client that began with a TLS record does not use another protocol.
        if (left === 'not-tls' && this.#length > 0) return 'malformed'
        if (typeof left === 'string') return left
        this.#at += RECORD_HEAD
        this.#left = left
      }
      const taken = Math.min(this.#left, bytes.length - this.#at)
      if (taken === 0) return 'more'
      this.#take(bytes.subarray(this.#at, this.#at + taken))
      this.#at += taken
      this.#left -= taken
      const wanted = wantedOf(this.#message, 0, this.#length)
      if (typeof wanted === 'string') return wanted
      if (this.#length >= wanted) return readMessage(this.#message, MESSAGE_HEAD, wanted)
      if (this.#at > MAX_WIRE) return 'malformed'
    }
  }

  #take(portion: Uint8Array): void {
    const length = this.#length + portion.length
    if (length > this.#message.length) {
      const larger = new Uint8Array(Math.max(1024, length, this.#message.length * 2))
      larger.set(this.#message.subarray(0, this.#length))
      this.#message = larger
    }
    this.#message.set(portion, this.#length)
    this.#length = length
  }
}

/** Nearly every ClientHello is one complete record: it is read in place. */
function readAtOnce(bytes: Uint8Array): HelloOutcome | undefined {
  const left = recordLength(bytes, 0)
  if (typeof left === 'string') return undefined
  const length = Math.min(left, bytes.length - RECORD_HEAD)
  const wanted = length === 0 ? undefined : wantedOf(bytes, RECORD_HEAD, length)
  if (typeof wanted !== 'number' || length < wanted) return undefined
  return readMessage(bytes, RECORD_HEAD + MESSAGE_HEAD, RECORD_HEAD + wanted)
}

/**
 * The length of a message with its header, of which `length` bytes arrived; or of the header alone,
 * if that is incomplete.
 */
function wantedOf(bytes: Uint8Array, at: number, length: number): number | 'not-tls' | 'malformed' {
  if (bytes[at] !== CLIENT_HELLO) return 'not-tls'
  if (length < MESSAGE_HEAD) return MESSAGE_HEAD
  const wanted = MESSAGE_HEAD + uint24(bytes, at + 1)
  return wanted > MAX_HELLO ? 'malformed' : wanted
}

/** The length of the fragment in the record at `at`. */
function recordLength(bytes: Uint8Array, at: number): number | 'more' | 'not-tls' | 'malformed' {
  if (at >= bytes.length) return 'more'
  if (bytes[at] !== HANDSHAKE_RECORD) return 'not-tls'
  if (at + 1 < bytes.length && bytes[at + 1] !== 3) return 'not-tls'
  if (at + RECORD_HEAD > bytes.length) return 'more'
  const length = uint16(bytes, at + 3)
  // RFC 8446 §5.1: no empty handshake fragments; they could make the gateway read forever.
  return length === 0 || length > MAX_FRAGMENT ? 'malformed' : length
}

/** A cursor over a part of a message; a read beyond its end clears `isWhole`. */
class Reader {
  readonly bytes: Uint8Array
  at: number
  readonly end: number
  isWhole = true

  constructor(bytes: Uint8Array, at: number, end: number) {
    this.bytes = bytes
    this.at = at
    this.end = end
  }

  get isAtEnd(): boolean {
    return this.at === this.end
  }

  /** Skips so many bytes; returns where they begin. */
  skip(length: number): number {
    const start = this.at
    if (start + length > this.end) {
      this.isWhole = false
      this.at = this.end
      return this.end
    }
    this.at = start + length
    return start
  }

  /** A reader for the next bytes; empty if they are incomplete. */
  part(length: number): Reader {
    const start = this.skip(length)
    return new Reader(this.bytes, start, this.at)
  }

  uint8(): number {
    const start = this.skip(1)
    return start < this.at ? (this.bytes[start] as number) : 0
  }

  uint16(): number {
    const start = this.skip(2)
    return start < this.at ? uint16(this.bytes, start) : 0
  }
}

function readMessage(bytes: Uint8Array, at: number, end: number): ClientHello | 'malformed' {
  const reader = new Reader(bytes, at, end)
  const version = reader.uint16()
  reader.skip(32)
  const session = reader.uint8()
  reader.skip(session)
  const suites = reader.uint16()
  reader.skip(suites)
  const compressions = reader.uint8()
  reader.skip(compressions)
  if (!reader.isWhole || session > 32 || version >> 8 !== 3) return 'malformed'
  if (suites === 0 || suites % 2 === 1 || compressions === 0) return 'malformed'
  // Before TLS 1.3 a ClientHello could end here.
  if (reader.isAtEnd) return { serverName: undefined, alpn: [], versions: [version] }
  const length = reader.uint16()
  // The extensions must be exactly the rest of the message.
  if (!reader.isWhole || length !== end - reader.at) return 'malformed'
  return readExtensions(reader, version)
}

const SERVER_NAME = 0
const ALPN = 16
const SUPPORTED_VERSIONS = 43

function readExtensions(reader: Reader, version: number): ClientHello | 'malformed' {
  const seen = new Set<number>()
  let serverName: string | undefined
  let alpn: readonly string[] = []
  let versions: readonly number[] = [version]
  while (!reader.isAtEnd) {
    const kind = reader.uint16()
    const length = reader.uint16()
    const begin = reader.skip(length)
    // RFC 8446 §4.2: extensions are unique. With two names, two servers could use different ones.
    if (!reader.isWhole || seen.has(kind)) return 'malformed'
    seen.add(kind)
    if (kind !== SERVER_NAME && kind !== ALPN && kind !== SUPPORTED_VERSIONS) continue
    const value = new Reader(reader.bytes, begin, reader.at)
    if (kind === SERVER_NAME) serverName = readServerName(value)
    else if (kind === ALPN) alpn = readAlpn(value)
    else versions = readVersions(value)
    if (!value.isWhole || !value.isAtEnd) return 'malformed'
  }
  return { serverName, alpn, versions }
}

function readServerName(reader: Reader): string | undefined {
  const list = reader.part(reader.uint16())
  const kind = list.uint8()
  const name = nameOf(list.part(list.uint16()))
  // RFC 6066 §3: one name per type, and there is only one type.
  if (kind !== 0 || !list.isWhole || !list.isAtEnd || name === undefined) reader.isWhole = false
  return name
}

/** Letters, digits, hyphens, underscores and single dots; a trailing dot is ignored. */
function nameOf({ bytes, at, end: last }: Reader): string | undefined {
  if (at === last || last - at > 255) return undefined
  const end = bytes[last - 1] === DOT ? last - 1 : last
  let name = ''
  let before = DOT
  for (let i = at; i < end; i++) {
    const code = bytes[i] as number
    if (code === DOT ? before === DOT : !isNameByte(code)) return undefined
    before = code
    name += String.fromCharCode(code >= 65 && code <= 90 ? code + 32 : code)
  }
  return name === '' || before === DOT ? undefined : name
}

const DOT = 46

function isNameByte(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 48 && code <= 57) ||
    code === 45 ||
    code === 95
  )
}

function readAlpn(reader: Reader): readonly string[] {
  const list = reader.part(reader.uint16())
  const names: string[] = []
  while (!list.isAtEnd) {
    const { bytes, at, end } = list.part(list.uint8())
    if (at === end) list.isWhole = false
    names.push(String.fromCharCode(...bytes.subarray(at, end)))
  }
  if (!list.isWhole || names.length === 0) reader.isWhole = false
  return names
}

function readVersions(reader: Reader): readonly number[] {
  const list = reader.part(reader.uint8())
  const versions: number[] = []
  while (!list.isAtEnd) versions.push(list.uint16())
  if (!list.isWhole || versions.length === 0) reader.isWhole = false
  return versions
}

function uint16(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) << 8) | (bytes[at + 1] as number)
}

function uint24(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) << 16) | uint16(bytes, at + 1)
}

const NO_BYTES = new Uint8Array(0)
