import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../../test/fuzz/runs.ts'
import { compile, STAGES } from '../../cel/index.ts'
import { double, int, isDouble, Uint } from '../../cel/values/number.ts'
import type { Value } from '../../cel/values/value.ts'
import { JSON_NUMBERS, type NumberDomain, numbersFor, plainNumber } from './numbers.ts'

// For every number of an attribute, the engine has one that no comparison tells apart from it. The
// gateway's own comparisons decide, on numbers at, next to and between the constants.

const SMALL = [0, 1, 2, 7, -1, 0.5, 0.9, 6.5, 100]
const LARGE: readonly (number | bigint)[] = [
  2 ** 52,
  2 ** 53,
  2n ** 53n,
  2n ** 53n + 1n,
  2n ** 63n - 1n,
  -(2n ** 63n),
  2n ** 64n - 1n,
  1e300,
  1.1e300,
  Infinity,
]

const valueFrom = (number: number | bigint): Value =>
  typeof number === 'number'
    ? number
    : number < 2n ** 63n
      ? (int(number) as Value)
      : new Uint(number)
const typed = (number: number): readonly Value[] =>
  Number.isSafeInteger(number) && number >= 0
    ? [number, double(number), new Uint(BigInt(number))]
    : [double(number)]
const small = fc.constantFrom(...SMALL.flatMap(typed))
const large = fc.constantFrom(
  ...LARGE.flatMap((one) => (typeof one === 'number' ? [double(one)] : [valueFrom(one)])),
)
const constants = fc.oneof(
  fc.uniqueArray(small, { maxLength: 4, comparator: Object.is }),
  fc.uniqueArray(fc.oneof(small, large), { maxLength: 4, comparator: Object.is }),
)

/** Numbers around each constant, and between any two. */
function numbersNear(all: readonly Value[]): readonly Value[] {
  const plain = all.map(plainNumber)
  const found: (number | bigint)[] = [0, -5, 1e9, 0.25, -1e301, 1e301, 2 ** 53 - 1]
  for (const one of plain) {
    found.push(one)
    if (typeof one === 'bigint' || Math.abs(one) >= 2 ** 53) {
      const whole = Number.isFinite(Number(one)) ? BigInt(one) : 0n
      for (const gap of [1n, 2n, 512n, 1024n, 2048n, 4096n]) found.push(whole - gap, whole + gap)
      for (const factor of [1 - 2 ** -53, 1 + 2 ** -52, 0.5, 2]) found.push(Number(one) * factor)
    } else found.push(one - 1, one + 1, one - 0.25, one + 0.25)
    for (const other of plain) found.push((Number(one) + Number(other)) / 2)
  }
  return found
    .filter((one) => typeof one === 'number' || (one >= -(2n ** 63n) && one < 2n ** 64n))
    .map((one) => (Number.isNaN(one) ? 0 : valueFrom(one === 0 ? 0 : one)))
}

const tests = ['n < c', 'n > c', 'n == c'].map((expression) =>
  compile(
    expression.replace('n', 'jwt.n').replace('c', 'jwt.c'),
    STAGES.traffic,
  ).expression?.evaluate(),
)

function outcomes(n: Value, all: readonly Value[]): string {
  return all
    .flatMap((c) => tests.map((test) => (test?.({ jwt: { n, c } }) === true ? 1 : 0)))
    .join('')
}

const isWhole = (value: Value) => !isDouble(value) && !(value instanceof Uint)

describe('the numbers of an attribute', () => {
  for (const [what, domain] of [
    ['a claim', JSON_NUMBERS],
    ['a number of a service', { ...JSON_NUMBERS, hasNaN: true }],
    ['a port', { hasFractions: false, hasNaN: false, min: 0, max: 65_535 }],
    ['a count', { hasFractions: false, hasNaN: false }],
    ['a date', { hasFractions: true, hasNaN: false, min: 0, max: 1_000 }],
  ] as const) {
    it(`have one for each that comparisons tell apart: ${what}`, () => {
      const isPossible = (value: Value): boolean => {
        const { min = -Infinity, max = Infinity, hasFractions }: NumberDomain = domain
        const number = Number(plainNumber(value))
        return (hasFractions || isWhole(value)) && number >= min && number <= max
      }
      const property = fc.property(constants, (all) => {
        const { min, max } = domain as NumberDomain
        // The limits are among the tests of an attribute with fractions.
        const limits = domain.hasFractions && min !== undefined ? [min, max as number] : []
        const values = numbersFor([...all, ...limits], domain)
        assert.equal(values.some(Number.isNaN), domain.hasNaN)
        for (const value of values) {
          assert.ok(Number.isNaN(value) || isPossible(value), String(value))
        }
        const found = new Set(values.map((value) => outcomes(value, all)))
        for (const near of numbersNear(all)) {
          if (!isPossible(near)) continue
          assert.ok(found.has(outcomes(near, all)), `${String(plainNumber(near))} is left out`)
        }
      })
      fc.assert(property, fuzz(1))
    })
  }
})
