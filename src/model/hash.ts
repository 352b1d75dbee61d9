import { canonicalJson, type LeaveOut } from './json.ts'

/**
 * Hashes the canonical JSON to 128 bits, in hexadecimal: the version of a Model or of a part of it.
 * It shows whether two values are the same, but does not resist deliberate collisions: anyone who
 * can write one configuration can also write the other.
 */
export function hashOf(value: unknown, leaveOut?: LeaveOut): string {
  return hashText(canonicalJson(value, leaveOut))
}

/** Hashes the UTF-16 code units. */
export function hashText(text: string): string {
  return textOf(hashLanes(text))
}

/** A hash as four numbers, for callers that combine many. */
export type Lanes = readonly [number, number, number, number]

/** Has its own loop rather than one for all kinds of units: thousands of strings are hashed. */
export function hashLanes(text: string): Lanes {
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
  return mixed(a, b, c, d, text.length)
}

/** Combines many hashes, in order. */
export function combine(hashes: readonly Lanes[]): string {
  let a: number = PRIMES[0]
  let b: number = PRIMES[1]
  let c: number = PRIMES[2]
  let d: number = PRIMES[3]
  for (let i = 0; i < hashes.length; i++) {
    const lanes = hashes[i] as Lanes
    for (let lane = 0; lane < 4; lane++) {
      const unit = lanes[lane] as number
      a = b ^ Math.imul(a ^ unit, PRIMES[0])
      b = c ^ Math.imul(b ^ unit, PRIMES[1])
      c = d ^ Math.imul(c ^ unit, PRIMES[2])
      d = a ^ Math.imul(d ^ unit, PRIMES[3])
    }
  }
  return textOf(mixed(a, b, c, d, 4 * hashes.length))
}

export function textOf(lanes: Lanes): string {
  return lanes.map((lane) => lane.toString(16).padStart(8, '0')).join('')
}

const PRIMES = [0x9e3779b1, 0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f] as const

/** Finishes four lanes over units, each with its own multiplier. */
function mixed(a: number, b: number, c: number, d: number, length: number): Lanes {
  return [
    avalanche(a ^ Math.imul(length, PRIMES[0])),
    avalanche(b ^ Math.imul(length, PRIMES[1])),
    avalanche(c ^ Math.imul(length, PRIMES[2])),
    avalanche(d ^ Math.imul(length, PRIMES[3])),
  ]
}

function avalanche(lane: number): number {
  let mixed = lane
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}
