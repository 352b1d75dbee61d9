import { fail } from './failure.ts'
import { parsePlainJson } from './json-plain.ts'
import { isPlainObject } from './kind.ts'
import type { Allowance } from './ledger.ts'
import { int, Uint } from './number.ts'
import type { Value } from './value.ts'

export interface JsonReadOptions {
  /**
   * `reject`: an object that repeats a member name is an error. By default the last one counts, as
   * in JSON.parse; but a party that signed or checked the text elsewhere may have read the first.
   */
  readonly duplicates?: 'reject'
  /** The budget for reading client input, reduced by the cost. By default there is no limit. */
  readonly allowance?: Allowance
  /** Set to facts about the text, for callers that read it again in another way. */
  readonly form?: JsonForm | undefined
}

export interface JsonForm {
  /** JSON.parse reads the same, and all numbers keep their value when they are written again. */
  isOrdinary: boolean
}

const QUOTE = 34

/** Deeper values are an error: values are traversed recursively. */
const MAX_DEPTH = 200

/**
 * The CEL value of a JSON text; an error if it is not JSON.
 *
 * - A number that is a safe integer is an int, however it is written: `1`, `1.0` and `1e0`.
 * - A larger one that is written only with digits is exact: an int up to int64, else a uint up to
 *   uint64, else the nearest double. With a fraction or an exponent (`1e17`) it is a double.
 * - An unpaired surrogate, which only `\ud800` and similar escapes can create, is an error: if it
 *   were replaced, two different names would become one.
 */
export function readJson(text: string, options: JsonReadOptions = {}): Value | undefined {
  const { allowance } = options
  const survey = new Survey(text, allowance?.left ?? Number.POSITIVE_INFINITY)
  const problem = survey.problem()
  if (allowance !== undefined) allowance.left -= survey.cost
  if (problem === 'deep') return fail('JSON is nested too deeply')
  if (problem === 'costly') return fail('JSON takes too long to parse')
  const value = survey.isPlain
    ? (parsePlainJson(text, plainNumber) as Value | undefined)
    : parse(text)
  if (value === undefined) return fail(INVALID_JSON)
  if (options.form !== undefined) {
    options.form.isOrdinary = !survey.isPlain && !survey.hasLongNumbers
  }
  if (survey.mayHoldHalfPairs || !text.isWellFormed()) {
    if (!isWellFormed(value)) return fail('ambiguous JSON', 'unpaired surrogate')
  }
  if (options.duplicates === 'reject' && countMembers(value) !== survey.members) {
    return fail('ambiguous JSON', 'duplicate member name')
  }
  return value
}

export const INVALID_JSON = 'invalid JSON'

function parse(text: string): Value | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function plainNumber(source: string): unknown {
  const value = Number(source)
  if (value === 0) return 0
  if (Number.isSafeInteger(value)) return value
  return /[.eE]/.test(source) ? value : (wide(source) ?? value)
}

/** uint64 has 20 digits; JSON has no leading zeros. */
function wide(digits: string): Value | undefined {
  if (digits.length > 20) return undefined
  const value = BigInt(digits)
  return int(value) ?? (value > 0n && value < 2n ** 64n ? new Uint(value) : undefined)
}

/*
 * The cost of reading, in units of fuel (./fuel.ts), measured in the worst case: names not seen
 * before cost by far the most. Callers that read client input pass an allowance; input that would
 * cost more is rejected during the survey, before anything is created from it.
 */
const COST = { letter: 1, value: 4, string: 8, escape: 4, container: 12, member: 60 } as const
/** The additional cost of each if JSON.parse does not read the text. */
const PLAIN = { value: 6, string: 20, container: 20, member: 60, wide: 90 } as const
/** The additional cost of each if the text may contain unpaired surrogates. */
const PAIRED = { value: 2, string: 25, container: 10, member: 30, wide: 0 } as const
/** No legitimate number has more characters. */
const MAX_NUMBER = 1_024

/** One pass over the text before it is parsed: what it contains, and what reading it costs. */
class Survey {
  /** Colons outside strings: one for each member of an object. */
  members = 0
  /** A member name is written with a backslash; see ./json-plain.ts. */
  hasEscapedNames = false
  /** A number that a double may not represent, or -0. */
  hasUnusualNumbers = false
  mayHoldHalfPairs = false
  /** A number with an exponent, or with more digits than are always exact. */
  hasLongNumbers = false
  cost = 0
  readonly #text: string
  readonly #max: number
  #values = 0
  #strings = 0
  #escapes = 0
  #containers = 0
  /** Numbers whose digits must be examined. */
  #wide = 0
  #slash = -1

  constructor(text: string, max: number) {
    this.#text = text
    this.#max = max
  }

  /** Whether ./json-plain.ts must read the text. */
  get isPlain(): boolean {
    return this.hasEscapedNames || this.hasUnusualNumbers
  }

  /** Why the text cannot be read; `undefined` if it can. */
  problem(): 'deep' | 'costly' | undefined {
    const problem = this.#scan()
    if (problem !== undefined) return problem
    if (this.isPlain) this.#add(PLAIN)
    if (this.mayHoldHalfPairs) this.#add(PAIRED)
    return this.cost > this.#max ? 'costly' : undefined
  }

  #add(price: Record<keyof typeof PLAIN, number>): void {
    this.cost += this.#values * price.value + this.#strings * price.string
    this.cost += this.#containers * price.container + this.members * price.member
    this.cost += this.#wide * price.wide
  }

  #scan(): 'deep' | 'costly' | undefined {
    const text = this.#text
    const max = Math.min(this.#max, MAX_COST)
    let cost = text.length >> 4
    let depth = 0
    /** Escapes in the last string. */
    let escapes = 0
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      cost += COST.letter
      switch (code) {
        case QUOTE:
          cost += COST.string
          this.#strings++
          escapes = this.#escapes
          at = this.#endOfString(at + 1, (max - cost) / COST.escape)
          escapes = this.#escapes - escapes
          cost += COST.escape * escapes
          break
        case 58: // :
          this.members++
          cost += COST.member
          if (escapes > 0) this.hasEscapedNames = true
          break
        case 44: // ,
          this.#values++
          cost += COST.value
          break
        case 91: // [
        case 123: // {
          this.#containers++
          cost += COST.container
          if (++depth > MAX_DEPTH) return this.#end(cost, 'deep')
          break
        case 93: // ]
        case 125: // }
          depth--
          break
        default:
          if (code === 45 || (code >= 48 && code <= 57)) {
            const last = this.#number(at)
            if (last < 0) return this.#end(cost, 'costly')
            cost += last - at
            at = last
          }
      }
      if (cost > max) return this.#end(cost, 'costly')
    }
    return this.#end(cost, undefined)
  }

  #end<T>(cost: number, problem: T): T {
    this.cost = cost
    return problem
  }

  /** The offset where the string ends, or where the text ends if it has too many escapes. */
  #endOfString(start: number, max: number): number {
    const text = this.#text
    let end = text.indexOf('"', start)
    let left = max
    for (let slash = this.#slashFrom(start); slash < end; slash = this.#slashFrom(slash + 2)) {
      this.#escapes++
      if (--left < 0) return text.length
      // `\ud83d` and similar.
      if (text.charCodeAt(slash + 1) === 117 && (text.charCodeAt(slash + 2) | 32) === 100) {
        this.mayHoldHalfPairs = true
      }
      if (end < slash + 2) end = text.indexOf('"', slash + 2)
    }
    return end < 0 ? text.length : end
  }

  /** Searched only once, however many strings come before it. */
  #slashFrom(start: number): number {
    if (this.#slash < start) {
      const found = this.#text.indexOf('\\', start)
      this.#slash = found < 0 ? Number.POSITIVE_INFINITY : found
    }
    return this.#slash
  }

  /** The last character of the number, without its exponent; -1 if the number is too long. */
  #number(start: number): number {
    const text = this.#text
    const max = start + MAX_NUMBER
    let hasDot = false
    let isZero = true
    let at = start
    let code = text.charCodeAt(at)
    const isNegative = code === 45
    if (isNegative) code = text.charCodeAt(++at)
    for (; (code >= 48 && code <= 57) || code === 46; code = text.charCodeAt(++at)) {
      if (code === 46) hasDot = true
      else if (code !== 48) isZero = false
      if (at === max) return -1
    }
    const hasExponent = (code | 32) === 101
    if (hasExponent || at - start > 15) this.hasLongNumbers = true
    // 2^53 has 16 digits. A number that is or rounds to -0 is the int 0.
    if (!hasDot && !hasExponent && at - start >= 16) {
      this.#wide++
      this.hasUnusualNumbers = true
    } else if (isNegative && (isZero || (hasExponent && this.#isTiny(at + 1)))) {
      this.#wide++
      this.hasUnusualNumbers = true
    }
    return at - 1
  }

  /** A negative exponent of at least three digits. */
  #isTiny(at: number): boolean {
    return this.#text.charCodeAt(at) === 45 && /^[0-9]{3}/.test(this.#text.slice(at + 1, at + 4))
  }
}

/** Keeps sums small integers. */
const MAX_COST = 2 ** 30

function isWellFormed(value: Value): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (Array.isArray(value)) return value.every(isWellFormed)
  if (!isPlainObject(value)) return true
  return Object.entries(value).every(([key, member]) => key.isWellFormed() && isWellFormed(member))
}

function countMembers(value: Value): number {
  if (Array.isArray(value)) return value.reduce((sum, element) => sum + countMembers(element), 0)
  if (!isPlainObject(value)) return 0
  const members = Object.values(value)
  return members.reduce<number>((sum, member) => sum + countMembers(member), members.length)
}
