import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { headerEdit, NO_EDIT } from '../../src/exchange/header-edit.ts'
import type { Step } from '../../src/exchange/step.ts'
import { exchange, startEcho, startGateway } from './harness.ts'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'

describe('the id of a request', () => {
  for (const [title, header, edit, ids] of [
    ['has its id there', '', NO_EDIT, ['id-1']],
    ['keeps the id that it has', 'X-Request-Id: own\r\n', NO_EDIT, ['own']],
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
})
