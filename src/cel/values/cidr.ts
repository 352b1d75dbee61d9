import { fail } from './failure.ts'
import { Ip, parseIp } from './ip.ts'

/**
 * A range of addresses as it was written: `10.0.0.1/8` keeps its host bits, which count for
 * equality and for the string form, but not for what the range contains.
 */
export class Cidr {
  readonly ip: Ip
  readonly prefixLength: number
  readonly m0: number
  readonly m1: number
  readonly m2: number
  readonly m3: number

  /** The prefix length must fit the family: 0 to 32, or 0 to 128. */
  constructor(ip: Ip, prefixLength: number) {
    const bits = ip.family === 4 ? prefixLength + 96 : prefixLength
    this.ip = ip
    this.prefixLength = prefixLength
    this.m0 = mask(bits)
    this.m1 = mask(bits - 32)
    this.m2 = mask(bits - 64)
    this.m3 = mask(bits - 96)
    Object.freeze(this)
  }

  get text(): string {
    return `${this.ip.text}/${this.prefixLength}`
  }

  /** IPv4 and IPv6 never contain each other. */
  containsIp(ip: Ip): boolean {
    const own = this.ip
    if (((own.w3 ^ ip.w3) & this.m3) !== 0 || own.family !== ip.family) return false
    if (own.family === 4) return true
    return (
      ((own.w0 ^ ip.w0) & this.m0) === 0 &&
      ((own.w1 ^ ip.w1) & this.m1) === 0 &&
      ((own.w2 ^ ip.w2) & this.m2) === 0
    )
  }

  containsCidr(other: Cidr): boolean {
    return this.prefixLength <= other.prefixLength && this.containsIp(other.ip)
  }

  /** The same range without host bits. */
  masked(): Cidr {
    const { family, w0, w1, w2, w3 } = this.ip
    const network = new Ip(family, w0 & this.m0, w1 & this.m1, w2 & this.m2, w3 & this.m3)
    return new Cidr(network, this.prefixLength)
  }

  equals(other: Cidr): boolean {
    return this.prefixLength === other.prefixLength && this.ip.equals(other.ip)
  }

  toString(): string {
    return this.text
  }
}

/** Strict: an address that `parseIp` accepts, a slash, a length without sign or leading zero. */
export function parseCidr(text: string): Cidr | undefined {
  // The longest address has 45 characters.
  const slash = text.length > 64 ? -1 : text.lastIndexOf('/')
  if (slash === -1) return fail('invalid CIDR', text)
  const ip = parseIp(text.slice(0, slash))
  const digits = text.slice(slash + 1)
  if (ip === undefined || !/^(?:0|[1-9][0-9]{0,2})$/.test(digits)) return fail('invalid CIDR', text)
  const length = Number(digits)
  return length > (ip.family === 4 ? 32 : 128) ? fail('invalid CIDR', text) : new Cidr(ip, length)
}

/** A word with the upper `bits` set; none below 0, all above 32. */
function mask(bits: number): number {
  if (bits <= 0) return 0
  return bits >= 32 ? -1 : -1 << (32 - bits)
}
