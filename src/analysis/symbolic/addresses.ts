import type { Cidr } from '../../cel/values/cidr.ts'
import { Ip } from '../../cel/values/ip.ts'

/**
 * Returns an address for every combination of these ranges containing and not containing it. Ranges
 * of addresses are nested or disjoint, so what one range leaves of another begins or ends right
 * beside either of them: the ends of all ranges and their neighbors are enough.
 */
export function addressesFor(ranges: readonly Cidr[]): readonly Ip[] {
  const found = new Map<string, Ip>()
  const add = (family: 4 | 6, number: bigint) => {
    if (number < 0n || number >> BigInt(BITS[family]) !== 0n) return
    const ip = toIp(family, number)
    if (!found.has(ip.text)) found.set(ip.text, ip)
  }
  // Likely addresses first: hosts do not have the address of their network.
  for (const range of ranges) {
    const { family, first, last } = ends(range)
    if (last - first > 8n) add(family, first + 7n)
  }
  for (const [family, text] of COMMON) add(family, text)
  for (const range of ranges) {
    const { family, first, last } = ends(range)
    for (const number of [first, last, first - 1n, last + 1n]) add(family, number)
  }
  for (const family of [4, 6] as const) {
    add(family, 0n)
    add(family, (1n << BigInt(BITS[family])) - 1n)
  }
  return [...found.values()].filter((ip) => !isMapped(ip))
}

const BITS = { 4: 32, 6: 128 } as const

/** Reserved for documentation (RFC 5737, RFC 3849), and so good examples. */
const COMMON: readonly (readonly [4 | 6, bigint])[] = [
  [4, 0xcb007107n],
  [6, 0x20010db8_00000000_00000000_00000007n],
]

function ends(range: Cidr): {
  readonly family: 4 | 6
  readonly first: bigint
  readonly last: bigint
} {
  const { ip, prefixLength } = range.masked()
  const first = numberOf(ip)
  const size = 1n << BigInt(BITS[ip.family] - prefixLength)
  return { family: ip.family, first, last: first + size - 1n }
}

function numberOf({ family, w0, w1, w2, w3 }: Ip): bigint {
  const words = family === 4 ? [w3] : [w0, w1, w2, w3]
  return words.reduce((number, word) => (number << 32n) | BigInt(word >>> 0), 0n)
}

function toIp(family: 4 | 6, number: bigint): Ip {
  const word = (shift: bigint) => Number((number >> shift) & 0xffffffffn)
  if (family === 4) return new Ip(4, 0, 0, 0, word(0n))
  return new Ip(6, word(96n), word(64n), word(32n), word(0n))
}

/** A peer never has such an address: it is shown as IPv4. */
function isMapped({ family, w0, w1, w2 }: Ip): boolean {
  return family === 6 && w0 === 0 && w1 === 0 && w2 === 0xffff
}
