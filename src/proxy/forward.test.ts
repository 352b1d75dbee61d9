import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NO_EDIT } from '../exchange/header-edit.ts'
import type { Downstream } from '../wire/downstream.ts'
import type { ResponseHead } from '../wire/http1/response-head.ts'
import type { UpstreamConnection } from '../wire/upstream-connection.ts'
import { Forward } from './forward.ts'

it('bytes of a stream that is reused by another request count as written', () => {
  const downstream = { uses: 3, isWritten: false }
  const forward = new Forward(
    undefined as never,
    downstream as Downstream,
    undefined as never,
    undefined as never,
    0,
    0,
    undefined as never,
  )
  assert.equal(forward.isWritten(), false)
  downstream.uses = 4
  assert.equal(forward.isWritten(), true)
})

it('the same applies to a stream to an upstream', () => {
  const connection = {
    uses: 0,
    isWritten: false,
    sendReceived: () => true,
  }
  const exchange = { sentEdit: NO_EDIT, request: { id: '' }, path: '/', sentSearch: '', host: 'x' }
  const head = { framing: 'none', method: 'GET', fields: { count: 0 }, upgrade: '' }
  const forward = new Forward(
    undefined as never,
    { head } as unknown as Downstream,
    exchange as never,
    undefined as never,
    0,
    0,
    { broke: () => {}, withoutResponse: () => {} } as never,
  )
  assert.equal(forward.hasWritten(), false)
  forward.connected(connection as unknown as UpstreamConnection)
  assert.equal(forward.hasWritten(), false)
  connection.uses++
  assert.equal(forward.hasWritten(), true)
})

describe('an error on either side of a request', () => {
  /** Throws for everything that is called, except for what `parts` has. */
  function broken<T extends object>(parts: Partial<T>): T {
    return new Proxy(parts as T, {
      get: (target, name) =>
        name in target
          ? Reflect.get(target, name)
          : () => {
              throw new Error(String(name))
            },
    })
  }

  /** A request that was sent, on a connection whose `abort` is recorded. */
  function sentForward(framing: 'none' | 'length') {
    const log: string[] = []
    const connection = broken<UpstreamConnection>({
      ...{ uses: 1, isShared: false, isClosed: false },
      sendReceived: () => true,
      abort: () => void log.push('abort'),
    })
    const exchange = {
      ...{ sentEdit: NO_EDIT, responseEdit: NO_EDIT, request: { id: '', version: 'HTTP/1.1' } },
      ...{ path: '/', sentSearch: '', host: 'x' },
    }
    const head = { framing, method: 'GET', fields: { count: 0 }, upgrade: '' }
    const forward = new Forward(
      undefined as never,
      broken<Downstream>({ head, isResponding: false, takesWire: false } as never),
      exchange as never,
      { cancel: () => {}, take: () => undefined, request: () => {} } as never,
      0,
      0,
      {
        sent: () => {},
        accepts: () => true,
        broke: (callOut: string, error: Error) => log.push(`${callOut} ${error.message}`),
        cut: () => log.push('cut'),
      } as never,
    )
    forward.connected(connection)
    return { forward, log }
  }

  const BYTES = Buffer.from('x')
  const HEAD = { status: 200, framing: 'length', fields: { count: 0 } } as unknown as ResponseHead
  for (const [event, expected, cause] of [
    [(forward: Forward) => forward.interim(HEAD), 'response interim', 'an interim response'],
    [(forward: Forward) => forward.response(HEAD), 'response respond', 'the head of a response'],
    [(forward: Forward) => forward.data(BYTES, 1), 'response write', 'bytes of a response'],
    [(forward: Forward) => forward.ended(undefined), 'response end', 'the end of a response'],
    [(forward: Forward) => forward.caughtUp(), 'response flush', 'a response that waits'],
    [(forward: Forward) => forward.drained(), 'body resumeBody', 'a backend that accepts more'],
    [(forward: Forward) => forward.write(BYTES), 'body write', 'bytes of a request'],
    [(forward: Forward) => forward.end(undefined), 'body end', 'the end of a request'],
  ] as const) {
    it(`concerns only the request, and is reported once: ${cause}`, () => {
      const { forward, log } = sentForward('length')
      event(forward)
      // The end of a response is the end of the connection's use.
      const isEnd = expected === 'response end'
      assert.deepEqual(log.splice(0), isEnd ? [expected] : ['abort', expected])
      assert.equal(forward.data(BYTES, 1), true)
      forward.ended(undefined)
      forward.caughtUp()
      forward.write(BYTES)
      forward.end(undefined)
      forward.abort('gone')
      forward.failed('reset', true)
      assert.deepEqual(log, [])
    })
  }

  it('that the connection is broken, too, does not replace the first one', () => {
    const { forward, log } = sentForward('none')
    forward.connected(broken<UpstreamConnection>({ isClosed: false }))
    assert.deepEqual(log, ['delivery sendReceived'])
  })
})
