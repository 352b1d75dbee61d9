import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Int, Uint } from '../values/number.ts'
import {
  addInts,
  addUints,
  divideInts,
  divideUints,
  moduloInts,
  moduloUints,
  multiplyInts,
  multiplyUints,
  negateInt,
  subtractInts,
  subtractUints,
} from './integers.ts'

const MIN = -(2n ** 63n)
const MAX = 2n ** 63n - 1n
const UMAX = 2n ** 64n - 1n

const EDGES = [MIN, MIN + 1n, MAX, MAX - 1n, 0n, 1n, -1n, 2n, -2n, 2n ** 53n, -(2n ** 53n)]
const INTS = fc.oneof(
  fc.bigInt({ min: MIN, max: MAX }),
  fc.bigInt({ min: -(2n ** 53n) - 5n, max: 2n ** 53n + 5n }),
  fc.bigInt({ min: 2n ** 53n - 5n, max: 2n ** 53n + 5n }),
  fc.bigInt({ min: -(2n ** 32n), max: 2n ** 32n }),
  fc.bigInt({ min: -9n, max: 9n }),
  fc.constantFrom(...EDGES),
)
const UINTS = fc.oneof(
  fc.bigInt({ min: 0n, max: UMAX }),
  fc.bigInt({ min: 0n, max: 9n }),
  fc.constantFrom(UMAX, 2n ** 63n),
)

type Plain = (a: bigint, b: bigint) => bigint | undefined

describe('arithmetic of ints equals that of BigInt, with an error beyond int64', () => {
  for (const [call, plain] of [
    [addInts, (a, b) => a + b],
    [subtractInts, (a, b) => a - b],
    [multiplyInts, (a, b) => a * b],
    [divideInts, (a, b) => (b === 0n ? undefined : a / b)],
    [moduloInts, (a, b) => (b === 0n || (a === MIN && b === -1n) ? undefined : a % b)],
    [negateInt, (a) => -a],
  ] as [typeof addInts, Plain][]) {
    it(call.name, () => {
      fc.assert(
        fc.property(INTS, INTS, (a, b) => {
          const exact = plain(a, b)
          const expected = exact === undefined || exact < MIN || exact > MAX ? undefined : exact
          const result = call(form(a), form(b))
          assert.ok(Object.is(result, expected === undefined ? undefined : form(expected)))
        }),
        { numRuns: 150 },
      )
    })
  }
})

describe('arithmetic of uints equals that of BigInt, with an error beyond uint64', () => {
  for (const [call, plain] of [
    [addUints, (a, b) => a + b],
    [subtractUints, (a, b) => a - b],
    [multiplyUints, (a, b) => a * b],
    [divideUints, (a, b) => (b === 0n ? undefined : a / b)],
    [moduloUints, (a, b) => (b === 0n ? undefined : a % b)],
  ] as [typeof addUints, Plain][]) {
    it(call.name, () => {
      fc.assert(
        fc.property(UINTS, UINTS, (a, b) => {
          const exact = plain(a, b)
          const expected = exact === undefined || exact < 0n || exact > UMAX ? undefined : exact
          assert.equal(call(new Uint(a), new Uint(b))?.value, expected)
        }),
        { numRuns: 150 },
      )
    })
  }
})

describe('the quotient of any two safe integers is exact', () => {
  it('is correct just below the next integer', () => {
    const large = fc.maxSafeNat().filter((value) => value > 0)
    fc.assert(
      fc.property(large, fc.oneof(large, fc.integer({ min: 1, max: 1000 })), (b, n) => {
        const a = Math.min(Number.MAX_SAFE_INTEGER, b * n - 1)
        if (!Number.isSafeInteger(b * n)) return
        assert.equal(divideInts(a, b), Number(BigInt(a) / BigInt(b)))
      }),
      { numRuns: 150 },
    )
  })
})

/** The only representation of an int: see values/value.ts. */
function form(value: bigint): Int {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}
