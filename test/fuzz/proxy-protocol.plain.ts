import { isIP } from 'node:net'
import type { ProxyOutcome, ProxyVersions } from '../../src/wire/proxy-protocol/read.ts'

const SIGNATURE = '\r\n\r\n\0\r\nQUIT\n'

/** The reference implementation of readProxyHeader, which uses strings and regular expressions. */
export function plainProxyHeader(bytes: Buffer, versions: ProxyVersions): ProxyOutcome {
  const text = bytes.toString('latin1')
  const begins = (start: string) => text.startsWith(start.slice(0, text.length))
  if (versions !== 'V2' && begins('PROXY ')) return text.length < 6 ? 'more' : line(text)
  if (versions !== 'V1' && begins(SIGNATURE)) return text.length < 16 ? 'more' : binary(text, bytes)
  return 'no-header'
}

function line(text: string): ProxyOutcome {
  const end = text.indexOf('\r')
  if (end === -1 || end > 105) return text.length > 105 ? 'line-too-long' : 'more'
  if (text.length === end + 1) return 'more'
  if (text[end + 1] !== '\n') return 'bad-line'
  const length = end + 2
  const words = text.slice(6, end).split(' ')
  const [protocol, source = '', destination = '', from = '', to = ''] = words
  if (protocol === 'UNKNOWN') return { length, peers: undefined }
  if (protocol !== 'TCP4' && protocol !== 'TCP6') return 'bad-protocol'
  if (words.length > 5) return 'bad-line'
  const family = protocol === 'TCP4' ? 4 : 6
  for (const address of [source, destination])
    if (isIP(address) !== family || /%/.test(address)) return 'bad-address'
  for (const port of [from, to]) if (`${Number(port) & 65_535}` !== port) return 'bad-port'
  const peers = {
    source: { address: source, port: Number(from) },
    destination: { address: destination, port: Number(to) },
  }
  return { length, peers }
}

function binary(text: string, bytes: Buffer): ProxyOutcome {
  const [first = 0, second = 0] = bytes.subarray(12)
  if ((first & 0xf0) !== 0x20) return 'bad-version'
  if ((first & 0x0f) > 1) return 'bad-command'
  const length = 16 + bytes.readUInt16BE(14)
  if (length > 16 + 4096) return 'too-long'
  if (text.length < length) return 'more'
  if ((first & 0x0f) === 0) return { length, peers: undefined }
  const size = { 0: 0, 17: 12, 33: 36, 49: 216 }[second]
  if (size === undefined) return 'bad-family'
  const rest = bytes.subarray(16, length)
  if (rest.length < size) return 'bad-length'
  if (second === 0) return { length, peers: undefined }
  const rejection = extensions(bytes.subarray(0, length), 16 + size)
  if (rejection !== undefined) return rejection
  if (second === 49) return { length, peers: undefined }
  const width = second === 17 ? 4 : 16
  const end = (turn: number) => {
    const address = rest.subarray(turn * width, (turn + 1) * width)
    const groups = address.toString('hex').match(/.{4}/g) ?? []
    return {
      address:
        width === 4
          ? [...address].join('.')
          : groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':'),
      port: rest.readUInt16BE(2 * width + 2 * turn),
    }
  }
  return { length, peers: { source: end(0), destination: end(1) } }
}

function extensions(bytes: Buffer, start: number): 'bad-tlv' | 'bad-checksum' | undefined {
  const sums: number[] = []
  for (let at = start; at < bytes.length; ) {
    if (bytes.length - at < 3) return 'bad-tlv'
    const length = bytes.readUInt16BE(at + 1)
    if (bytes.length - at - 3 < length) return 'bad-tlv'
    if (bytes[at] === 3) {
      if (length !== 4) return 'bad-tlv'
      sums.push(at + 3)
    }
    at += 3 + length
  }
  const [at] = sums
  if (sums.length > 1) return 'bad-tlv'
  if (at === undefined) return undefined
  const zeroed = Buffer.from(bytes)
  zeroed.fill(0, at, at + 4)
  return bitwise(zeroed) === bytes.readUInt32BE(at) ? undefined : 'bad-checksum'
}

function bitwise(bytes: Buffer): number {
  let sum = 0xffffffff
  for (const byte of bytes) {
    sum ^= byte
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0x82f63b78 : sum >>> 1
  }
  return (sum ^ 0xffffffff) >>> 0
}
