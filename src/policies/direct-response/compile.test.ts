import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decide, headersOf, programOf } from '../../../test/program/models.ts'

async function response(policy: object, url = '/') {
  const program = programOf({ routes: [{ policies: { directResponse: policy }, backends: [] }] })
  const { reply } = await decide(program, { url })
  assert.ok(reply)
  return { program, reply }
}

describe('directResponse', () => {
  for (const [what, policy, status, body, contentType] of [
    ['a status alone', { status: 404 }, 404, '', ''],
    ['a body is plain text', { status: 200, body: 'hi' }, 200, 'hi', 'text/plain; charset=utf-8'],
    [
      'a content type by expression',
      { status: 200, body: '{}', headers: { 'Content-Type': "'application/json'" } },
      200,
      '{}',
      'application/json',
    ],
    [
      'a computed text',
      { status: 200, bodyExpression: "'path ' + request.path" },
      200,
      'path /',
      'text/plain; charset=utf-8',
    ],
    [
      'a computed object is JSON',
      { status: 200, bodyExpression: "{'path': request.path}" },
      200,
      '{"path":"/"}',
      'text/plain; charset=utf-8',
    ],
    ['a body without a value', { status: 200, bodyExpression: 'jwt.sub' }, 500, '', ''],
  ] as const) {
    it(what, async () => {
      const { reply } = await response(policy)
      assert.deepEqual([reply.status, reply.body, reply.contentType], [status, body, contentType])
    })
  }

  it('is built once if it is constant', async () => {
    const { program, reply } = await response({ status: 200, body: 'x', headers: { a: "'b'" } })
    assert.deepEqual(headersOf(reply), { a: 'b' })
    assert.equal((await decide(program)).reply, reply)
  })

  it('omits headers that have no value or cannot be written', async () => {
    const headers = { a: 'jwt.sub', b: "'x\\r\\ny: z'", c: 'request.path' }
    const { reply } = await response({ status: 200, headers }, '/p')
    assert.deepEqual(headersOf(reply), { c: '/p' })
  })
})
