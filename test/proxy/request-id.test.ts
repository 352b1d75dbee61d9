import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { headerEdit, NO_EDIT } from '../../src/exchange/header-edit.ts'
import type { Step } from '../../src/exchange/step.ts'
import { governBy } from './governed.ts'
import { exchange, startEcho, startGateway } from './harness.ts'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'

describe('the ID of a request', () => {
  for (const [title, header, edit, ids] of [
    ['has its id there', '', NO_EDIT, ['id-1']],
    ['has ours in place of the one that it came with', 'X-Request-Id: own\r\n', NO_EDIT, ['id-1']],
    ['has ours in place of one with underscores', 'x_request_id: own\r\n', NO_EDIT, ['id-1']],
    [
      'has the id that a policy sets',
      '',
      headerEdit({ set: [{ name: 'X-Request-Id', value: 'set' }] }),
      ['set'],
    ],
    ['has none where a policy takes it away', '', headerEdit({ remove: ['x-request-id'] }), []],
  ] as const) {
    it(`a request to the upstream ${title}`, async () => {
      const step: Step = (own) => {
        own.requestEdit = edit
        return undefined
      }
      const upstream = await startEcho(OK)
      const gateway = await startGateway(upstream.port, { steps: [step] })
      await exchange(gateway.port, `GET / HTTP/1.1\r\nhost: x\r\n${header}\r\n`, 'hello')
      const found = [...(upstream.received[0] ?? '').matchAll(/^x-request-id: (.*)\r$/gim)]
      assert.deepEqual(
        found.map(([, id]) => id),
        ids,
      )
      await gateway.close()
      upstream.close()
    })
  }

  for (const [title, header, edit, ids] of [
    ['has the id of its request', '', NO_EDIT, ['id-1']],
    ['has it in place of the one of the upstream', 'X-Request-Id: own\r\n', NO_EDIT, ['id-1']],
    [
      'has the id that a policy sets',
      '',
      headerEdit({ set: [{ name: 'x-request-id', value: 'set' }] }),
      ['set'],
    ],
    ['has none where a policy takes it away', '', headerEdit({ remove: ['x-request-id'] }), []],
  ] as const) {
    it(`a response of the upstream ${title}`, async () => {
      const step: Step = (own) => {
        own.responseEdit = edit
        return undefined
      }
      const upstream = await startEcho(OK.replace('\r\n\r\n', `\r\n${header}\r\n`))
      const gateway = await startGateway(upstream.port, { steps: [step] })
      const response = await exchange(gateway.port, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n', 'hello')
      const found = [...response.matchAll(/^x-request-id: (.*)\r$/gim)]
      assert.deepEqual(
        found.map(([, id]) => id),
        ids,
      )
      await gateway.close()
      upstream.close()
    })
  }

  const file = (hops: number) => (_: string, port: number, backend: number) =>
    `
frontendPolicies: { http: { trustedHops: ${hops} } }
gateways: { default: { port: ${port} } }
routes: [{ name: all, backends: [{ host: '127.0.0.1:${backend}' }] }]
`
  for (const [hops, given, isKept] of [
    [0, 'own-1', false],
    [1, 'own-1', true],
    [2, 'A.b_c-9', true],
    [1, 'a'.repeat(128), true],
    [1, 'a'.repeat(129), false],
    [1, 'a b', false],
    [1, 'a"b', false],
    [1, 'a,b', false],
    [1, '', false],
  ] as const) {
    const shown = given.length > 20 ? `${given.length} characters` : JSON.stringify(given)
    it(`${shown} of a client behind ${hops} trusted hops is ${isKept ? '' : 'not '}kept`, async () => {
      const gateway = await governBy('', file(hops))
      const { headers, got } = await gateway.get('/', { 'x-request-id': given })
      await gateway.close()
      const id = headers.get('x-request-id') ?? ''
      assert.equal(id === given, isKept)
      assert.match(id, /^[A-Za-z0-9._-]{1,128}$/)
      // The client, the backend and the log have the same ID.
      assert.equal(got?.headers['x-request-id'], id)
      assert.ok(gateway.lines.some((line) => line['request.id'] === id))
    })
  }

  it('two of them behind a trusted hop are not kept', async () => {
    const gateway = await governBy('', file(1))
    const lines = 'x-request-id: a\r\nx-request-id: b\r\nconnection: close\r\n'
    const text = await exchange(gateway.port, `GET / HTTP/1.1\r\nhost: x\r\n${lines}\r\n`)
    await gateway.close()
    const ids = [...text.matchAll(/^x-request-id: (.*)\r$/gim)].map(([, id]) => id)
    assert.equal(ids.length, 1)
    assert.ok(!['a', 'b', 'a,b', 'a, b'].includes(String(ids[0])))
  })
})
