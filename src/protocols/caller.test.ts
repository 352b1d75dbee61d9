import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readJson } from '../cel/values/json-read.ts'
import type { JsonObject } from '../cel/values/value.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { callerOf } from './caller.ts'

/** The caller of a request whose token has these claims. */
function callerWith(claims: string): string {
  const value = readJson(claims) as JsonObject
  const identity = { by: {}, variable: 'jwt', value, credential: undefined, earlier: undefined }
  return callerOf({ identity, source: {} } as unknown as Exchange)
}

describe('the caller of a request', () => {
  it('is known by integers beyond 2^53, each another caller', () => {
    const callers = ['9007199254740993', '9007199254740992', '18446744073709551615'].map((sub) =>
      callerWith(`{"iss":"a","sub":${sub}}`),
    )
    assert.equal(new Set(callers).size, callers.length)
  })

  it('without a subject is known by the claims, in whatever order, without times', () => {
    const first = callerWith('{"iss":"a","id":9007199254740993,"b":1,"exp":1}')
    assert.equal(
      first,
      callerWith('{"exp":9007199254740995,"b":1,"id":9007199254740993,"iss":"a"}'),
    )
    assert.notEqual(first, callerWith('{"iss":"a","id":9007199254740995,"b":1}'))
  })
})
