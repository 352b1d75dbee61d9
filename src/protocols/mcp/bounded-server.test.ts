import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { boundMessages } from './bounded-server.ts'
import type { McpServer, ServerEvents, ServerFailure } from './server.ts'

const message = (values: number) =>
  `{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"a":[${'1,'.repeat(values)}0]}}}`

describe('a message of a server', () => {
  for (const [what, method, text, isPassed] of [
    ['with as many values as tables have', 'tools/call', message(50_000), true],
    ['with so many that reading it would hold up others', 'tools/call', message(80_000), false],
    [
      'of any length, if most of it is one string',
      'tools/call',
      `{"a":"${'x'.repeat(9e6)}"}`,
      true,
    ],
    ['that lists tools, which is read in steps', 'tools/list', message(80_000), true],
  ] as const) {
    it(`${what} ${isPassed ? 'passes' : 'ends the call with a failure'}`, () => {
      const seen: (string | undefined)[] = []
      let isStopped = false
      const server: Pick<McpServer<void>, 'name' | 'send'> = {
        name: 'one',
        send(_, __, ___, events) {
          events.began('message', undefined)
          events.received({ text, block: undefined })
          events.ended()
          return { stop: () => void (isStopped = true), resume() {} }
        },
      }
      const events: ServerEvents = {
        began() {},
        received: (one) => seen.push(one.text) > 0,
        ended: () => void seen.push('end'),
        failed: ({ status, reason }: ServerFailure) => void seen.push(`${status} ${reason}`),
      }
      const own = boundMessages(server as McpServer<void>)
      own.send(undefined, {} as never, { method } as never, events)
      assert.deepEqual(seen, isPassed ? [text, 'end'] : ['502 too-many-values'])
      assert.equal(isStopped, !isPassed)
    })
  }
})
