import { isIPv4, isIPv6 } from 'node:net'
import type { ProxyOutcome } from './read.ts'

/** The longest line that the protocol allows, with its end. */
const MAX_LENGTH = 107
const PREFIX = 'PROXY '

export function readV1(bytes: Uint8Array): ProxyOutcome {
  for (let i = 0; i < PREFIX.length; i++) {
    if (i === bytes.length) return 'more'
    if (bytes[i] !== PREFIX.charCodeAt(i)) return 'no-header'
  }
  const end = bytes.subarray(0, MAX_LENGTH - 1).indexOf(CR)
  if (end === -1) return bytes.length >= MAX_LENGTH - 1 ? 'line-too-long' : 'more'
  if (end + 1 === bytes.length) return 'more'
  if (bytes[end + 1] !== LF) return 'bad-line'
  return readLine(String.fromCharCode(...bytes.subarray(PREFIX.length, end)), end + 2)
}

const CR = 13
const LF = 10

function readLine(line: string, length: number): ProxyOutcome {
  // The rest of the line must be ignored.
  if (line === 'UNKNOWN' || line.startsWith('UNKNOWN ')) return { length, peers: undefined }
  const [protocol, source = '', destination = '', from = '', to = '', ...rest] = line.split(' ')
  const isAddress = protocol === 'TCP4' ? isIPv4 : protocol === 'TCP6' ? isPlainIPv6 : undefined
  if (isAddress === undefined) return 'bad-protocol'
  if (rest.length > 0) return 'bad-line'
  if (!isAddress(source) || !isAddress(destination)) return 'bad-address'
  if (!isPort(from) || !isPort(to)) return 'bad-port'
  return {
    length,
    peers: {
      source: { address: source, port: Number(from) },
      destination: { address: destination, port: Number(to) },
    },
  }
}

/** Zones are meaningful only on one machine. */
function isPlainIPv6(text: string): boolean {
  return isIPv6(text) && !text.includes('%')
}

function isPort(text: string): boolean {
  return /^(0|[1-9][0-9]{0,4})$/.test(text) && Number(text) <= 65_535
}
