import { canonicalJson } from './json.ts'

/**
 * 128 bits over the canonical text, in hexadecimal: the version of a Model or of a part of it.
 * It tells whether two values are the same, and is no proof against someone who looks for
 * collisions: whoever can write one configuration can as well write the other.
 */
export function hashOf(value: unknown, leaveOut?: ReadonlySet<string>): string {
  return hashText(canonicalJson(value, leaveOut))
}

const PRIMES = [0x9e3779b1, 0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f] as const

/** Four lanes over the UTF-16 units, each with its own multiplier, mixed with each other. */
export function hashText(text: string): string {
  let a: number = PRIMES[0]
  let b: number = PRIMES[1]
  let c: number = PRIMES[2]
  let d: number = PRIMES[3]
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    a = b ^ Math.imul(a ^ unit, PRIMES[0])
    b = c ^ Math.imul(b ^ unit, PRIMES[1])
    c = d ^ Math.imul(c ^ unit, PRIMES[2])
    d = a ^ Math.imul(d ^ unit, PRIMES[3])
  }
  const length = text.length
  return [a, b, c, d]
    .map((lane, index) => avalanche(lane ^ Math.imul(length, PRIMES[index] as number)))
    .map((lane) => lane.toString(16).padStart(8, '0'))
    .join('')
}

function avalanche(lane: number): number {
  let mixed = lane
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}
