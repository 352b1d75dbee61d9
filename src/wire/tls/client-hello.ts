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
  /** The message out of its records, as far as it came. */
  #message = new Uint8Array(1024)
  #length = 0
  /** How far the bytes of the connection were read, and how many more are of the same record. */
  #at = 0
  #left = 0

  /** Takes all bytes that came since the beginning; looks only at those that are new. */
  read(bytes: Uint8Array): HelloOutcome {
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
      const wanted = this.#wanted()
      if (typeof wanted === 'string') return wanted
      if (this.#length >= wanted) return readMessage(this.#message.subarray(MESSAGE_HEAD, wanted))
      if (this.#at > LONGEST_WIRE) return 'malformed'
    }
  }

  #wanted(): number | 'not-tls' | 'malformed' {
    if (this.#message[0] !== CLIENT_HELLO) return 'not-tls'
    if (this.#length < MESSAGE_HEAD) return MESSAGE_HEAD
    const wanted = MESSAGE_HEAD + uint24(this.#message, 1)
    return wanted > LONGEST_HELLO ? 'malformed' : wanted
  }

  #take(portion: Uint8Array): void {
    const length = this.#length + portion.length
    if (length > this.#message.length) {
      const larger = new Uint8Array(Math.max(length, this.#message.length * 2))
      larger.set(this.#message.subarray(0, this.#length))
      this.#message = larger
    }
    this.#message.set(portion, this.#length)
    this.#length = length
  }
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

/** A cursor over one message; the first read beyond its end is remembered and returns nothing. */
class Reader {
  readonly bytes: Uint8Array
  at = 0
  isWhole = true

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.at === this.bytes.length
  }

  take(length: number): Uint8Array {
    const start = this.at
    if (start + length > this.bytes.length) {
      this.isWhole = false
      this.at = this.bytes.length
      return NO_BYTES
    }
    this.at += length
    return this.bytes.subarray(start, this.at)
  }

  uint8(): number {
    return this.take(1)[0] ?? 0
  }

  uint16(): number {
    const two = this.take(2)
    return two.length === 0 ? 0 : uint16(two, 0)
  }
}

function readMessage(message: Uint8Array): ClientHello | 'malformed' {
  const reader = new Reader(message)
  const version = reader.uint16()
  reader.take(32)
  const session = reader.take(reader.uint8())
  const suites = reader.take(reader.uint16())
  const compressions = reader.take(reader.uint8())
  if (!reader.isWhole || session.length > 32 || version >> 8 !== 3) return 'malformed'
  if (suites.length === 0 || suites.length % 2 === 1 || compressions.length === 0)
    return 'malformed'
  // Before TLS 1.3 a ClientHello could end here.
  if (reader.isAtEnd) return { serverName: undefined, alpn: [], versions: [version] }
  const extensions = reader.take(reader.uint16())
  if (!reader.isWhole || !reader.isAtEnd) return 'malformed'
  return readExtensions(extensions, version)
}

const SERVER_NAME = 0
const ALPN = 16
const SUPPORTED_VERSIONS = 43

function readExtensions(bytes: Uint8Array, version: number): ClientHello | 'malformed' {
  const reader = new Reader(bytes)
  const seen = new Set<number>()
  let serverName: string | undefined
  let alpn: readonly string[] = []
  let versions: readonly number[] = [version]
  while (!reader.isAtEnd) {
    const kind = reader.uint16()
    const value = new Reader(reader.take(reader.uint16()))
    // RFC 8446 §4.2: none comes twice. Of two names one would be believed here, one elsewhere.
    if (!reader.isWhole || seen.has(kind)) return 'malformed'
    seen.add(kind)
    if (kind === SERVER_NAME) serverName = readServerName(value)
    else if (kind === ALPN) alpn = readAlpn(value)
    else if (kind === SUPPORTED_VERSIONS) versions = readVersions(value)
    else continue
    if (!value.isWhole || !value.isAtEnd) return 'malformed'
  }
  return { serverName, alpn, versions }
}

function readServerName(reader: Reader): string | undefined {
  const list = new Reader(reader.take(reader.uint16()))
  const kind = list.uint8()
  const name = nameOf(list.take(list.uint16()))
  // RFC 6066 §3: one name of a kind, and there is but one kind.
  if (kind !== 0 || !list.isWhole || !list.isAtEnd || name === undefined) reader.isWhole = false
  return name
}

/** Letters, digits, hyphens, underscores and single dots; a last dot means the same without it. */
function nameOf(bytes: Uint8Array): string | undefined {
  if (bytes.length === 0 || bytes.length > 255) return undefined
  const end = bytes[bytes.length - 1] === DOT ? bytes.length - 1 : bytes.length
  let name = ''
  let before = DOT
  for (let i = 0; i < end; i++) {
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
  const list = new Reader(reader.take(reader.uint16()))
  const names: string[] = []
  while (!list.isAtEnd) {
    const name = list.take(list.uint8())
    if (name.length === 0) list.isWhole = false
    names.push(String.fromCharCode(...name))
  }
  if (!list.isWhole || names.length === 0) reader.isWhole = false
  return names
}

function readVersions(reader: Reader): readonly number[] {
  const list = new Reader(reader.take(reader.uint8()))
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
