import type { ClaimNode } from './constants.ts'
import type { Random } from './random.ts'

/** Values at and around the constants in files: an analysis that is slightly wrong fails there. */

export function nearText(random: Random, text: string): string {
  switch (random.int(7)) {
    case 0:
      return `${text}x`
    case 1:
      return text.slice(0, -1)
    case 2:
      return text.toUpperCase()
    case 3:
      return ''
    default:
      return text
  }
}

/** The path as a client may write it. */
export function nearPath(random: Random, path: string): string {
  const own = path.startsWith('/') ? path : `/${path}`
  const letter = /[a-z]/.exec(own)
  switch (random.int(18)) {
    case 0:
      return `${own}x`
    case 1:
      return own.length > 1 ? own.slice(0, -1) || '/' : '/'
    case 2:
      return own.toUpperCase()
    case 3:
      return `/${own}`
    case 4:
      return `/.${own}`
    case 5:
      return `/zz/..${own}`
    case 6:
      return own.endsWith('/') ? own.slice(0, -1) || '/' : `${own}/`
    case 7:
      return `${own}/x`
    case 8:
      if (letter === null) return own
      return own.replace(letter[0], `%${letter[0].charCodeAt(0).toString(16)}`)
    case 9:
      return `${own}/..${own}`
    case 10:
      return `${own}//`
    default:
      return own
  }
}

/** For HTTP/1.1; undefined means HTTP/1.0 without a host. */
export function nearHost(random: Random, host: string): string | undefined {
  switch (random.int(14)) {
    case 0:
      return host.toUpperCase()
    case 1:
      return `${host}.`
    case 2:
      return `${host.replace(/:\d+$/, '')}:8080`
    case 3:
      return undefined
    case 4:
      return ''
    case 5:
      return `x.${host}`
    default:
      return host
  }
}

const buffer = new DataView(new ArrayBuffer(8))

/** The next double in the direction. */
export function nextAfter(value: number, step: 1 | -1): number {
  if (value === 0) return step * Number.MIN_VALUE
  buffer.setFloat64(0, value)
  const bits = buffer.getBigInt64(0)
  buffer.setBigInt64(0, value > 0 === step > 0 ? bits + 1n : bits - 1n)
  return buffer.getFloat64(0)
}

function numberText(random: Random, numbers: readonly number[]): string {
  const all = numbers.length === 0 ? [0, 1, 0.5] : numbers
  const one = random.pick(all)
  const other = random.pick(all)
  const text = (value: number) => (Number.isFinite(value) ? String(value).replace('+', '') : '0')
  switch (random.int(11)) {
    case 0:
      return text(one + 1)
    case 1:
      return text(one - 1)
    case 2:
      return text(one + 0.5)
    case 3:
      return text(one - 0.5)
    case 4:
      return text(nextAfter(one, 1))
    case 5:
      return text(nextAfter(one, -1))
    case 6:
    case 7:
      return text(one / 2 + other / 2)
    case 8:
      return random.pick([
        '9007199254740993',
        '1e400',
        '-0.0',
        '1.0',
        '18446744073709551616',
        '1E2',
      ])
    default:
      return text(one)
  }
}

const string = (text: string) => JSON.stringify(text)

function listText(random: Random, strings: readonly string[]): string {
  const members = random.some(strings, random.int(4)).map(string)
  if (random.chance(0.1)) members.push(random.pick(['1', 'null', 'true', '[]']))
  return `[${members.join(',')}]`
}

/** A value of a claim as JSON text; undefined if it is absent. */
export function claimText(random: Random, claim: ClaimNode, depth = 0): string | undefined {
  const strings = [...claim.strings]
  if (random.chance(depth === 0 ? 0.15 : 0.25)) return undefined
  if (claim.members.size > 0 && random.chance(0.75)) return objectText(random, claim, depth + 1)
  const number = () => numberText(random, [...claim.numbers])
  if (claim.numbers.size > 0 && random.chance(0.5)) return number()
  switch (random.int(14)) {
    case 0:
      return 'null'
    case 1:
    case 2:
      return random.pick(['true', 'false'])
    case 3:
      return number()
    case 4:
      return `{${random
        .some(strings, random.int(3))
        .map(
          (key) =>
            `${string(key)}:${random.pick(['1', '"a"', 'null', 'true', '{"y":1}', '["eng"]'])}`,
        )
        .join(',')}}`
    case 5:
    case 6:
    case 7:
      return listText(random, strings)
    case 8:
      return string(strings.join(' '))
    default:
      return string(nearText(random, strings.length === 0 ? 'alice' : random.pick(strings)))
  }
}

export function objectText(random: Random, claim: ClaimNode, depth: number): string {
  const members: string[] = []
  for (const [name, member] of claim.members) {
    const text = claimText(random, member, depth)
    if (text !== undefined) members.push(`${string(name)}:${text}`)
  }
  return `{${members.join(',')}}`
}

/**
 * The first or last address of a range, or one outside of it; or the address itself or a neighbor.
 */
export function nearAddress(random: Random, written: string): string {
  const [address = '', length] = written.split('/')
  if (address.includes(':')) {
    const own = address.endsWith('::') ? `${address}1` : address
    return random.pick([own, '2001:db8:ffff::1', '2001:db9::1', '::1'])
  }
  const whole = address.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0)
  const size = 2 ** (32 - Number(length ?? 32))
  const first = Math.floor(whole / size) * size
  const chosen = random.pick([first, first + size - 1, first - 1, first + size, whole, first + 1])
  const value = Math.max(0, Math.min(4_294_967_295, chosen))
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.')
}
