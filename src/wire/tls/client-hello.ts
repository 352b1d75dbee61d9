/** What the first message of a TLS client says, before anything is encrypted. */
export interface ClientHello {
  /** In lower case and without a dot at the end; undefined where there is none. */
  readonly serverName: string | undefined
  readonly alpn: readonly string[]
  /** The versions that it speaks, as numbers of the protocol (0x0304 is TLS 1.3). */
  readonly versions: readonly number[]
}

/** `more`: what came so far is a part of one. Bytes are never consumed: TLS reads them again. */
export type HelloOutcome = 'more' | 'not-tls' | 'malformed' | ClientHello

/** Keys of several kinds and a long ticket fit; more is not kept for somebody unknown. */
export const LONGEST_HELLO = 16_384
/** The same with the heads of its records, of which there may be one for every other byte. */
const LONGEST_WIRE = 65_536

const HANDSHAKE_RECORD = 22
const CLIENT_HELLO = 1
const RECORD_HEAD = 5
const MESSAGE_HEAD = 4
const LONGEST_FRAGMENT = 16_384

/**
 * Reads a ClientHello from the bytes of a connection, which may come in any portions and be
 * spread over any number of records. RFC 8446 §4.1.2 and §5.1, RFC 6066 §3, RFC 7301. Never
 * throws. What two readers could take for two names is malformed.
 */
export class HelloReader {
  /** The message out of its records, as far as it came, where it is spread over several. */
  #message = NO_BYTES
  #length = 0
  /** How far the bytes of the connection were read, and how many more are of the same record. */
  #at = 0
  #left = 0

  /** Takes all bytes that came since the beginning; looks only at those that are new. */
  read(bytes: Uint8Array): HelloOutcome {
    return (this.#at === 0 && readAtOnce(bytes)) || this.#readOn(bytes)
  }

  #readOn(bytes: Uint8Array): HelloOutcome {
    for (;;) {
      if (this.#left === 0) {
        const left = recordLength(bytes, this.#at)
        // Who began with a record of TLS and goes on otherwise is no client of anything else.
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
      if (this.#at > LONGEST_WIRE) return 'malformed'
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

/** Nearly every ClientHello is one record that came whole: it is read where it is. */
function readAtOnce(bytes: Uint8Array): HelloOutcome | undefined {
  const left = recordLength(bytes, 0)
  if (typeof left === 'string') return undefined
  const length = Math.min(left, bytes.length - RECORD_HEAD)
  const wanted = length === 0 ? undefined : wantedOf(bytes, RECORD_HEAD, length)
  if (typeof wanted !== 'number' || length < wanted) return undefined
  return readMessage(bytes, RECORD_HEAD + MESSAGE_HEAD, RECORD_HEAD + wanted)
}

/** How long a message is with its head, of which `length` bytes came; that of the head before. */
function wantedOf(bytes: Uint8Array, at: number, length: number): number | 'not-tls' | 'malformed' {
  if (bytes[at] !== CLIENT_HELLO) return 'not-tls'
  if (length < MESSAGE_HEAD) return MESSAGE_HEAD
  const wanted = MESSAGE_HEAD + uint24(bytes, at + 1)
  return wanted > LONGEST_HELLO ? 'malformed' : wanted
}

/** The length of the fragment in the record at `at`. */
function recordLength(bytes: Uint8Array, at: number): number | 'more' | 'not-tls' | 'malformed' {
  if (at >= bytes.length) return 'more'
  if (bytes[at] !== HANDSHAKE_RECORD) return 'not-tls'
  if (at + 1 < bytes.length && bytes[at + 1] !== 3) return 'not-tls'
  if (at + RECORD_HEAD > bytes.length) return 'more'
  const length = uint16(bytes, at + 3)
  // RFC 8446 §5.1: no empty fragments of handshakes; they would be a way to make us read for ever.
  return length === 0 || length > LONGEST_FRAGMENT ? 'malformed' : length
}

/** A cursor over a part of a message; the first read beyond its end is remembered. */
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

  /** Goes on behind so many bytes; says where they begin. */
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

  /** The next bytes for a reader of their own; none where they are not all there. */
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
  // With no bytes behind them they must be all there are.
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
    // RFC 8446 §4.2: none comes twice. Of two names one would be believed here, one elsewhere.
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
  // RFC 6066 §3: one name of a kind, and there is but one kind.
  if (kind !== 0 || !list.isWhole || !list.isAtEnd || name === undefined) reader.isWhole = false
  return name
}

/** Letters, digits, hyphens, underscores and single dots; a last dot means the same without it. */
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
