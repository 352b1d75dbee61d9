import { type Ip, ipFromSocket } from '../cel/values/ip.ts'
import type { Source } from './connection.ts'

/**
 * The client of one request according to X-Forwarded-For, if `hops` proxies in front are trusted.
 * Each of them appended the address of its peer, so the last `hops` entries are theirs and the
 * first of these is the client; any client can forge the entries before. A shorter list did not
 * pass through all of them, and nothing in it is trusted. Undefined if one of their entries is not
 * an address: the client is unknown then.
 */
export function forwardedSource(
  source: Source,
  list: string | undefined,
  hops: number,
): Source | undefined {
  let rest = list
  let peer: Peer | undefined
  for (let hop = 0; hop < hops; hop++) {
    if (rest === undefined) return source
    const comma = rest.lastIndexOf(',')
    peer = peerOf(rest.slice(comma + 1).trim())
    if (peer === undefined) return undefined
    rest = comma < 0 ? undefined : rest.slice(0, comma)
  }
  return peer === undefined ? source : source.seenAs(peer.address, peer.port)
}

interface Peer {
  readonly address: Ip
  /** 0 if not given. */
  readonly port: number
}

const PORT = /^[0-9]{1,5}$/

/** `10.0.0.7`, `10.0.0.7:80`, `2001:db8::7`, `[2001:db8::7]`, `[2001:db8::7]:80`. */
function peerOf(entry: string): Peer | undefined {
  // A zone is meaningful only on the machine that wrote it.
  if (entry.includes('%')) return undefined
  if (entry.startsWith('[')) {
    const end = entry.indexOf(']')
    const inner = entry.slice(1, end)
    if (end < 0 || !inner.includes(':')) return undefined
    if (end === entry.length - 1) return peerAt(inner, undefined)
    return entry[end + 1] === ':' ? peerAt(inner, entry.slice(end + 2)) : undefined
  }
  const colon = entry.indexOf(':')
  if (colon < 0 || colon !== entry.lastIndexOf(':')) return peerAt(entry, undefined)
  return peerAt(entry.slice(0, colon), entry.slice(colon + 1))
}

function peerAt(text: string, port: string | undefined): Peer | undefined {
  const address = ipFromSocket(text)
  if (address === undefined) return undefined
  if (port === undefined) return { address, port: 0 }
  if (!PORT.test(port) || Number(port) > 65_535) return undefined
  return { address, port: Number(port) }
}
