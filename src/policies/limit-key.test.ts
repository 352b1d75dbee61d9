import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { outcome, programOf } from '../../test/program/models.ts'
import type { CompileContext } from './define.ts'
import { compileLimitKey } from './limit-key.ts'

describe('the key of a limit', () => {
  const keyOf = (value: unknown) => {
    const context = {
      compile: () => ({ evaluate: () => () => value }),
    } as unknown as CompileContext
    return compileLimitKey('x', 'key', {} as never, context)({})
  }

  for (const [value, key] of [
    ['ann', '=ann'],
    ['', '='],
    ['-', '=-'],
    [7n, '=7'],
    [true, '=true'],
    [new TextEncoder().encode('ann'), '=ann'],
    ['x'.repeat(128), `=${'x'.repeat(128)}`],
    [undefined, '-'],
  ] as const) {
    it(`${typeof value} ${String(value).slice(0, 20)}: ${key.slice(0, 20)}`, () => {
      assert.equal(keyOf(value), key)
    })
  }

  it('of a long value is short, and differs for each value', () => {
    const keys = ['x'.repeat(129), 'x'.repeat(130), `${'x'.repeat(128)}y`].map(keyOf)
    assert.equal(new Set(keys).size, 3)
    for (const key of keys) assert.match(key, /^#.{44}$/)
  })

  it('is the same for all requests without an expression, and for all without a value', async () => {
    assert.equal(compileLimitKey(undefined, 'key', {} as never, {} as CompileContext)({}), '')
    const key = "request.headers['x-user']"
    const localRateLimit = { requests: 1, unit: 'Minutes', key }
    const program = programOf({ routes: [{ policies: { localRateLimit } }] })
    const admitted: string[] = []
    for (const user of [undefined, undefined, 'ann', 'bob', 'ann', undefined, '-']) {
      const headers = user === undefined ? {} : { 'x-user': user }
      admitted.push((await outcome(program, { headers })).slice(0, 3))
    }
    assert.deepEqual(admitted, ['up', '429', 'up', 'up', '429', '429', 'up'])
  })
})
