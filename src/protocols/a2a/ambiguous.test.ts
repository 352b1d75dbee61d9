import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readA2a } from './message.ts'

const CALL = { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 't' } }

function read(verb: string, path: string, body: unknown, search = '') {
  const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
  return readA2a({ verb, path, search, body: bytes, header: () => undefined })
}

describe('calls that agents may read differently than rules', () => {
  for (const [what, ...call] of [
    // A server that strips path parameters treats it as a call over REST.
    ['parameters in a path', 'POST', '/message:send;a=b', { ...CALL, message: { parts: [] } }],
    ['encoded parameters in a path', 'POST', '/message:send%3Ba', { ...CALL, message: {} }],
    ['parameters of a task', 'GET', '/tasks/t;a=b', undefined],
    ['a list of parameters', 'POST', '/', { ...CALL, params: ['t'] }],
    ['a text as parameters', 'POST', '/', { ...CALL, params: 't' }],
    ['two contexts in a query', 'GET', '/tasks', undefined, '?contextId=a&contextId=b'],
    ['two spellings of a context', 'GET', '/tasks', undefined, '?contextId=a&context_id=b'],
    [
      'a context in a query and a body',
      'POST',
      '/message:send',
      { message: { contextId: 'a' } },
      '?contextId=b',
    ],
  ] as const) {
    it(`is rejected: ${what}`, () => {
      const [verb, path, body, search] = call
      const result = read(verb, path, body, search)
      assert.ok('rejected' in result, JSON.stringify(result))
      // A malformed call over JSON-RPC gets the error that an agent sends.
      assert.equal(result.status, path === '/' ? 200 : 400)
    })
  }

  it('are rejected only in these cases', () => {
    for (const [verb, path, body, search] of [
      ['POST', '/', CALL, ''],
      ['POST', '/', { ...CALL, params: undefined }, ''],
      ['POST', '/', { ...CALL, params: null }, ''],
      ['GET', '/tasks', undefined, '?contextId=a&contextId=a&pageSize=5'],
      ['POST', '/message:send', { message: { parts: [] } }, ''],
    ] as const) {
      assert.ok(!('rejected' in read(verb, path, body, search)), path)
    }
  })
})
