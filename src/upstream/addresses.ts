import { BlockList, isIP } from 'node:net'
import type { DnsSettings } from '../model/settings.ts'

export interface Address {
  readonly address: string
  readonly family: 4 | 6
}

/** The address that a literal host denotes; literals need no lookup. */
export function literalAddress(host: string): Address | undefined {
  const family = isIP(host)
  return family === 0 ? undefined : { address: host, family: family as 4 | 6 }
}

/**
 * RFC 8305 §4: alternates the families, starting with the preferred one. Within a family, each call
 * starts at another address, so that connections spread over all addresses of a name.
 */
export function inTurn(
  addresses: readonly Address[],
  lookupFamily: DnsSettings['lookupFamily'],
  turn: number,
): readonly Address[] {
  if (addresses.length < 2) return addresses
  const first = lookupFamily === 'V4Preferred' || lookupFamily === 'V4Only' ? 4 : 6
  const preferred = rotated(
    addresses.filter(({ family }) => family === first),
    turn,
  )
  const others = rotated(
    addresses.filter(({ family }) => family !== first),
    turn,
  )
  const ordered: Address[] = []
  for (let at = 0; at < Math.max(preferred.length, others.length); at++) {
    const one = preferred[at]
    const other = others[at]
    if (one !== undefined) ordered.push(one)
    if (other !== undefined) ordered.push(other)
  }
  return ordered
}

function rotated<T>(list: readonly T[], turn: number): readonly T[] {
  if (list.length < 2) return list
  const by = turn % list.length
  return [...list.slice(by), ...list.slice(0, by)]
}

/**
 * Loopback, link-local and cloud metadata addresses: a target that comes with a request must not
 * reach them, whatever name it uses.
 */
export function isLocal({ address, family }: Address): boolean {
  return LOCAL.check(address, family === 4 ? 'ipv4' : 'ipv6')
}

const LOCAL = new BlockList()
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  ['100.100.100.200', 32],
  ['192.0.0.192', 32],
] as const) {
  LOCAL.addSubnet(net, prefix, 'ipv4')
}
for (const [net, prefix] of [
  ['::', 127],
  ['fe80::', 10],
  ['ff00::', 8],
  ['fd00:ec2::', 32],
  ['fd20:ce::254', 128],
  // The same IPv4 addresses through NAT64, 6to4 and the deprecated IPv4-compatible form.
  ['64:ff9b::7f00:0', 104],
  ['64:ff9b::a9fe:0', 112],
  ['64:ff9b::', 104],
  ['2002:7f00::', 24],
  ['2002:a9fe::', 32],
  ['2002::', 24],
  ['::7f00:0', 104],
  ['::a9fe:0', 112],
] as const) {
  LOCAL.addSubnet(net, prefix, 'ipv6')
}
