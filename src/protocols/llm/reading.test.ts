import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { glanceAtBody, readProviderBody } from './reading.ts'

const body = (rest: string) => Buffer.from(`{"model":"m",${rest}}`)
const long = (bytes: number) => body(`"a":"${'x'.repeat(bytes)}"`)
const crowded = (values: number) => body(`"a":[${'1,'.repeat(values)}0]`)

describe('the response of a provider', () => {
  for (const [what, bytes, isRead] of [
    ['of 8 MB in one string', long(8_000_000), true],
    ['of 9 MB', long(9_000_000), false],
    ['with 250,000 values', crowded(250_000), true],
    ['with so many that reading it would hold up others', crowded(300_000), false],
    ['with as many letters that are escapes', body(`"a":"${'\\n'.repeat(1_500_000)}"`), false],
  ] as const) {
    it(`${what} is ${isRead ? '' : 'not '}read`, () => {
      for (const read of [readProviderBody, glanceAtBody]) {
        assert.equal(read(bytes)?.['model'], isRead ? 'm' : undefined)
      }
    })
  }
})
