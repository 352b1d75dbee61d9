import { crc32c } from './crc32c.ts'
import type { ProxyEnd, ProxyOutcome } from './read.ts'

const SIGNATURE = [13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10]
const HEAD = 16
/** Addresses and extensions; load balancers send a few hundred bytes at most. */
const MAX_LENGTH = 4_096

const LOCAL = 0
const PROXY = 1

/** Bytes of addresses and ports by address family: none, IPv4, IPv6, Unix. */
const ADDRESS_LENGTHS = [0, 12, 36, 216] as const
const STREAM = 1

export function readV2(bytes: Uint8Array): ProxyOutcome {
  for (let i = 0; i < SIGNATURE.length; i++) {
    if (i === bytes.length) return 'more'
    if (bytes[i] !== SIGNATURE[i]) return 'no-header'
  }
  if (bytes.length < HEAD) return 'more'
  const head = bytes[12] as number
  const command = head & 15
  if (head >> 4 !== 2) return 'bad-version'
  if (command !== LOCAL && command !== PROXY) return 'bad-command'
  const length = uint16(bytes, 14)
  if (length > MAX_LENGTH) return 'too-long'
  if (bytes.length < HEAD + length) return 'more'
  return readWhole(bytes.subarray(0, HEAD + length), command)
}

function readWhole(bytes: Uint8Array, command: number): ProxyOutcome {
  const family = (bytes[13] as number) >> 4
  const transport = (bytes[13] as number) & 15
  const wanted = ADDRESS_LENGTHS[family]
  // A TCP connection cannot carry a datagram, and a family or transport alone is meaningless.
  const isKnown = family === 0 ? transport === 0 : transport === STREAM
  if (command === PROXY && (wanted === undefined || !isKnown)) return 'bad-family'
  // A LOCAL header may contain anything after this: it is skipped.
  if (command === LOCAL) return { length: bytes.length, peers: undefined }
  const start = HEAD + (wanted as number)
  if (start > bytes.length) return 'bad-length'
  const rejection = family === 0 ? undefined : checkExtensions(bytes, start)
  if (rejection !== undefined) return rejection
  if (family !== 1 && family !== 2) return { length: bytes.length, peers: undefined }
  const size = family === 1 ? 4 : 16
  return {
    length: bytes.length,
    peers: {
      source: endAt(bytes, HEAD, size, HEAD + 2 * size),
      destination: endAt(bytes, HEAD + size, size, HEAD + 2 * size + 2),
    },
  }
}

const CHECKSUM = 3
const ZERO_CHECKSUM = new Uint8Array(4)

/** Extensions must fill the rest exactly; a checksum, if present, must be correct. */
function checkExtensions(bytes: Uint8Array, start: number): 'bad-tlv' | 'bad-checksum' | undefined {
  let at = start
  let checksumAt = 0
  while (at < bytes.length) {
    if (at + 3 > bytes.length) return 'bad-tlv'
    const value = at + 3
    const end = value + uint16(bytes, at + 1)
    if (end > bytes.length) return 'bad-tlv'
    if (bytes[at] === CHECKSUM) {
      if (end - value !== 4 || checksumAt > 0) return 'bad-tlv'
      checksumAt = value
    }
    at = end
  }
  if (checksumAt === 0) return undefined
  // The checksum is computed with zeros in its own place.
  const before = crc32c(bytes.subarray(0, checksumAt))
  const sum = crc32c(bytes.subarray(checksumAt + 4), crc32c(ZERO_CHECKSUM, before))
  const said = ((uint16(bytes, checksumAt) << 16) | uint16(bytes, checksumAt + 2)) >>> 0
  return sum === said ? undefined : 'bad-checksum'
}

function endAt(bytes: Uint8Array, at: number, size: number, portAt: number): ProxyEnd {
  const address = bytes.subarray(at, at + size)
  return {
    address: size === 4 ? address.join('.') : groupsOf(address),
    port: uint16(bytes, portAt),
  }
}

function groupsOf(address: Uint8Array): string {
  const groups: string[] = []
  for (let i = 0; i < 16; i += 2) groups.push(uint16(address, i).toString(16))
  return groups.join(':')
}

function uint16(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) << 8) | (bytes[at + 1] as number)
}
