import { BOOL, CIDR, INT, IP, STRING } from '../check/types.ts'
import { type Cidr, parseCidr } from '../values/cidr.ts'
import { type Ip, parseIp } from '../values/ip.ts'
import { defineLibrary, fn, global, method, type Overload } from './define.ts'

/**
 * Addresses and ranges, with the names and results of cel-go's network extension, which are those
 * of Kubernetes. Parsing is strict: no zones, no IPv4-mapped IPv6, no leading zeros.
 */
export const NETWORK = defineLibrary('network', [
  fn(
    'ip',
    global([STRING], IP, parseIp, once(parseIp)),
    method([CIDR], IP, (range: Cidr) => range.ip),
  ),
  fn(
    'isIP',
    global([STRING], BOOL, (text: string) => parseIp(text) !== undefined),
  ),
  fn('ip.isCanonical', global([STRING], BOOL, isCanonical)),
  fn(
    'family',
    is(({ family }) => family, INT),
  ),
  fn('isUnspecified', is(isUnspecified)),
  fn('isLoopback', is(isLoopback)),
  fn('isLinkLocalMulticast', is(isLinkLocalMulticast)),
  fn('isLinkLocalUnicast', is(isLinkLocalUnicast)),
  fn('isGlobalUnicast', is(isGlobalUnicast)),

  fn('cidr', global([STRING], CIDR, parseCidr, once(parseCidr))),
  fn(
    'isCIDR',
    global([STRING], BOOL, (text: string) => parseCidr(text) !== undefined),
  ),
  fn(
    'containsIP',
    method([CIDR, IP], BOOL, (range: Cidr, ip: Ip) => range.containsIp(ip)),
    within(parseIp, (range, ip) => range.containsIp(ip)),
  ),
  fn(
    'containsCIDR',
    method([CIDR, CIDR], BOOL, (range: Cidr, other: Cidr) => range.containsCidr(other)),
    within(parseCidr, (range, other) => range.containsCidr(other)),
  ),
  fn(
    'isMask',
    method([CIDR], BOOL, (range: Cidr) => range.equals(range.masked())),
  ),
  fn(
    'masked',
    method([CIDR], CIDR, (range: Cidr) => range.masked()),
  ),
  fn(
    'prefixLength',
    method([CIDR], INT, (range: Cidr) => range.prefixLength),
  ),

  fn(
    'string',
    global([IP], STRING, (ip: Ip) => ip.text),
    global([CIDR], STRING, (range: Cidr) => range.text),
  ),
])

function is(test: (ip: Ip) => boolean | number, result = BOOL): Overload {
  return method([IP], result, test)
}

/** A constant string is parsed once, when the expression is compiled. */
function once(parse: (text: string) => Ip | Cidr | undefined): Required<Pick<Overload, 'prepare'>> {
  return {
    prepare: ([text]) => {
      const parsed = typeof text === 'string' ? parse(text) : undefined
      return parsed === undefined ? undefined : () => parsed
    },
  }
}

function within<T>(
  parse: (text: string) => T | undefined,
  test: (range: Cidr, parsed: T) => boolean,
): Overload {
  const call = (range: Cidr, text: string) => {
    const parsed = parse(text)
    return parsed === undefined ? undefined : test(range, parsed)
  }
  return method([CIDR, STRING], BOOL, call, {
    prepare: ([, text]) => {
      const parsed = typeof text === 'string' ? parse(text) : undefined
      return parsed === undefined ? undefined : (range: Cidr) => test(range, parsed)
    },
  })
}

function isCanonical(text: string): boolean | undefined {
  const ip = parseIp(text)
  return ip === undefined ? undefined : ip.text === text
}

function isUnspecified(ip: Ip): boolean {
  return (ip.w0 | ip.w1 | ip.w2 | ip.w3) === 0
}

/** 127.0.0.0/8, ::1 */
function isLoopback(ip: Ip): boolean {
  if (ip.family === 4) return ip.w3 >>> 24 === 127
  return ip.w3 === 1 && (ip.w0 | ip.w1 | ip.w2) === 0
}

/** 224.0.0.0/4, ff00::/8 */
function isMulticast(ip: Ip): boolean {
  return ip.family === 4 ? ip.w3 >>> 28 === 14 : ip.w0 >>> 24 === 0xff
}

/** 224.0.0.0/24, ff02::/16 with any flags */
function isLinkLocalMulticast(ip: Ip): boolean {
  return ip.family === 4 ? ip.w3 >>> 8 === 0xe00000 : ((ip.w0 >>> 16) & 0xff0f) === 0xff02
}

/** 169.254.0.0/16, fe80::/10 */
function isLinkLocalUnicast(ip: Ip): boolean {
  return ip.family === 4 ? ip.w3 >>> 16 === 0xa9fe : ip.w0 >>> 22 === 0xfe80 >>> 6
}

/** As in Go: private and unique local addresses count, the IPv4 broadcast address does not. */
function isGlobalUnicast(ip: Ip): boolean {
  if (ip.family === 4 && ip.w3 === -1) return false
  return !(isUnspecified(ip) || isLoopback(ip) || isMulticast(ip) || isLinkLocalUnicast(ip))
}
