import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { flatnessOf } from './flatness.ts'

const MB = 1 << 20
const noise = (i: number) => ((i * 7_919) % 100) / 100

const samples = (bytes: (seconds: number) => number) =>
  Array.from({ length: 200 }, (_, i) => ({ seconds: i * 2, bytes: bytes(i * 2) }))

describe('flat memory', () => {
  for (const [what, bytes, isFlat] of [
    ['a constant', () => 100 * MB, true],
    ['noise of a garbage collector', (s: number) => (90 + 30 * noise(s)) * MB, true],
    ['one peak at the end', (s: number) => (s > 380 ? 300 : 100) * MB, true],
    ['a heap that shrinks', (s: number) => (150 - s / 10) * MB, true],
    ['a slow leak', (s: number) => (100 + s / 10) * MB, false],
    ['a leak below noise', (s: number) => (90 + 30 * noise(s) + s / 12) * MB, false],
    ['a leak in steps', (s: number) => (100 + 10 * Math.floor(s / 60)) * MB, false],
  ] as const) {
    it(`${what}: ${isFlat ? 'flat' : 'not flat'}`, () => {
      assert.equal(flatnessOf(samples(bytes)).isFlat, isFlat)
    })
  }
})
