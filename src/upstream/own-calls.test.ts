import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { exchangeOf } from '../../test/fuzz/exchanges.ts'
import type { Fields } from '../wire/http1/fields.ts'
import { HEAD_LIMITS } from '../wire/http1/message.ts'
import { ResponseHead, readResponseHead } from '../wire/http1/response-head.ts'
import { caller } from './call.ts'
import { Endpoint, Scripted } from './fixtures/scripted-endpoint.ts'
import { streamOpener } from './message-stream.ts'
import { serviceCaller } from './service-caller.ts'

/*
 * Calls of the gateway itself, each kind on connections whose events happen exactly when the test
 * says so.
 */

interface Begun {
  /** What was reported, in order. */
  readonly reported: string[]
  readonly stop?: () => void
}

const CALL = {
  method: 'POST',
  path: '/x',
  authority: '',
  headers: [],
  idleTimeout: Number.POSITIVE_INFINITY,
  timeout: 60_000,
}
const BODY = { ...CALL, body: Buffer.from('body') }

/** The kinds of calls, all of which send `body`. */
const KINDS: Readonly<Record<string, (endpoint: Endpoint) => Begun>> = {
  'a call with a streamed response': ({ cluster }) => {
    const reported: string[] = []
    const { stop } = bound(
      caller(cluster)(exchangeOf(), BODY, {
        response: (status) => void reported.push(`response ${status}`),
        data: (bytes) => reported.push(Buffer.from(bytes).toString()) > 0,
        ended: () => void reported.push('ended'),
        failed: (reason) => void reported.push(`failed ${reason}`),
      }),
    )
    return { reported, stop }
  },
  'a call to a service of a policy': ({ cluster }) => {
    const reported: string[] = []
    const settled = serviceCaller(cluster)(exchangeOf(), { ...BODY, maxBytes: 64 })
    void settled.then((response) => {
      reported.push('failure' in response ? `failed ${response.failure}` : 'ended')
    })
    return { reported }
  },
  'a stream of messages': ({ cluster }) => {
    const reported: string[] = []
    const stream = streamOpener(cluster)(exchangeOf(), '/x', {
      message: (bytes) => void reported.push(Buffer.from(bytes).toString()),
      closed: (reason) => void reported.push(`failed ${reason}`),
    })
    stream.send(Buffer.from('body'))
    stream.end()
    return { reported, stop: () => stream.stop() }
  },
}

function bound<T extends { stop(): void }>(handle: T) {
  return { stop: () => handle.stop() }
}

const settled = () => new Promise((done) => setImmediate(done))
const framed = (text: string) => {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(text.length, 1)
  return Buffer.concat([head, Buffer.from(text)])
}

for (const [kind, begin] of Object.entries(KINDS)) {
  const isStream = kind === 'a stream of messages'
  const sent = ['POST /x HTTP/1.1', isStream ? framed('body').toString('latin1') : 'body', 'end']

  describe(kind, () => {
    it('is sent on an idle connection, or on one that is opened for it', async () => {
      for (const isIdle of [true, false]) {
        const endpoint = new Endpoint()
        const idle = new Scripted()
        if (isIdle) endpoint.idle = idle
        const { reported } = begin(endpoint)
        assert.equal(endpoint.waiting.length, isIdle ? 0 : 1)
        const connection = isIdle ? idle : endpoint.connect()
        assert.deepEqual(connection.log, sent)
        connection.respond('200 OK\r\ngrpc-status: 0')
        connection.events?.ended(undefined)
        await settled()
        assert.deepEqual(reported.at(-1), isStream ? 'failed gRPC status 0' : 'ended')
        assert.deepEqual(endpoint.attempts, [{ outcome: 'responded', status: 200 }])
      }
    })

    it('is sent again, with all of it, if an idle connection closes before it says anything', async () => {
      const endpoint = new Endpoint()
      endpoint.idle = new Scripted()
      const idle = endpoint.idle
      const { reported } = begin(endpoint)
      idle.events?.failed('reset', true)
      assert.equal(endpoint.waiting.length, 1)
      const second = endpoint.connect()
      assert.deepEqual(second.log, sent)
      assert.deepEqual([reported, endpoint.attempts], [[], []])
      second.events?.failed('closed', true)
      await settled()
      assert.deepEqual(reported, ['failed closed'])
      assert.deepEqual(endpoint.attempts, [{ outcome: 'reset', status: 0 }])
      assert.equal(endpoint.waiting.length, 0)
    })

    for (const [sentence, isIdle, isUntouched, reason, outcome] of [
      ['its connection was opened for it', false, true, 'reset', 'reset'],
      ['the service has begun to respond', true, false, 'reset', 'reset'],
      ['it was too slow', true, false, 'timeout', 'timeout'],
    ] as const) {
      it(`fails if ${sentence}`, async () => {
        const endpoint = new Endpoint()
        const connection = new Scripted()
        if (isIdle) endpoint.idle = connection
        const { reported } = begin(endpoint)
        if (!isIdle) endpoint.connect(connection)
        connection.events?.failed(reason, isUntouched)
        await settled()
        assert.deepEqual(reported, [`failed ${reason}`])
        // Calls of policies have a timer of their own.
        const isPolicy = kind === 'a call to a service of a policy'
        assert.deepEqual(endpoint.attempts, [{ outcome: isPolicy ? 'reset' : outcome, status: 0 }])
        assert.equal(endpoint.waiting.length, 0)
      })
    }

    it('fails if no connection can be opened, or no endpoint chosen', async () => {
      const endpoint = new Endpoint()
      const { reported } = begin(endpoint)
      endpoint.waiting[0]?.unconnected('connect-refused')
      await settled()
      assert.deepEqual(reported, ['failed connect-refused'])
      assert.deepEqual(endpoint.attempts, [{ outcome: 'connect-failed', status: 0 }])
      const none = new Endpoint()
      none.problem = 'no-endpoint'
      const second = begin(none)
      await settled()
      assert.deepEqual(second.reported, ['failed no-endpoint'])
      assert.deepEqual(none.attempts, [])
    })

    if (kind === 'a call to a service of a policy') return

    it('is cancelled once, before or after it has a connection', () => {
      for (const when of ['before', 'after'] as const) {
        const endpoint = new Endpoint()
        const { reported, stop } = begin(endpoint)
        const connection = new Scripted()
        if (when === 'after') endpoint.connect(connection)
        connection.log.length = 0
        stop?.()
        stop?.()
        assert.equal(endpoint.cancelled, when === 'before' ? 1 : 0)
        assert.deepEqual(endpoint.attempts, [{ outcome: 'cancelled', status: 0 }])
        if (when === 'before') endpoint.connect(connection)
        assert.deepEqual(connection.log, [when === 'before' ? 'release' : 'abort'])
        connection.events?.data(Buffer.from('late'), 4)
        connection.events?.ended(undefined)
        connection.events?.failed('reset', true)
        assert.deepEqual([reported, endpoint.attempts.length], [[], 1])
      }
    })
  })
}

describe('messages of a stream', () => {
  function open() {
    const endpoint = new Endpoint()
    const messages: string[] = []
    const closed: string[] = []
    const stream = streamOpener(endpoint.cluster)(exchangeOf(), '/x', {
      message: (bytes) => void messages.push(Buffer.from(bytes).toString()),
      closed: (reason) => void closed.push(reason),
    })
    return { endpoint, stream, messages, closed }
  }

  it('arrive as they were sent, wherever their bytes are split', () => {
    const all = Buffer.concat(['one', '', 'three'].map(framed))
    for (let at = 0; at <= all.length; at++) {
      const { endpoint, messages, closed } = open()
      const connection = endpoint.connect()
      connection.respond('200 OK')
      for (const part of [all.subarray(0, at), all.subarray(at)]) {
        assert.equal(connection.events?.data(part, part.length), true)
      }
      assert.deepEqual([messages, closed], [['one', '', 'three'], []])
    }
  })

  it('are sent in order, before and after there is a connection, and none after the end', () => {
    const { endpoint, stream } = open()
    stream.send(Buffer.from('a'))
    const connection = endpoint.connect()
    stream.send(Buffer.from('b'))
    stream.end()
    stream.end()
    stream.send(Buffer.from('c'))
    const texts = ['a', 'b'].map((text) => framed(text).toString('latin1'))
    assert.deepEqual(connection.log.slice(1), [...texts, 'end'])
  })

  it('are not sent again if there are too many of them, so that the stream fails', () => {
    const endpoint = new Endpoint()
    endpoint.idle = new Scripted()
    const idle = endpoint.idle
    const closed: string[] = []
    const events = { message: () => {}, closed: (reason: string) => void closed.push(reason) }
    const stream = streamOpener(endpoint.cluster)(exchangeOf(), '/x', events)
    for (let i = 0; i < 5; i++) stream.send(Buffer.alloc(8_192))
    idle.events?.failed('reset', true)
    assert.deepEqual([closed, endpoint.waiting.length], [['reset'], 0])
  })

  for (const [sentence, bytes] of [
    ['is compressed', [1, 0, 0, 0, 1, 0]],
    ['is longer than 16 MiB', [0, 1, 0, 0, 1]],
  ] as const) {
    it(`end the stream if one ${sentence}`, () => {
      const { endpoint, messages, closed } = open()
      const connection = endpoint.connect()
      connection.respond('200 OK')
      connection.events?.data(Buffer.from(bytes), bytes.length)
      assert.deepEqual([messages, closed], [[], ['not a gRPC message']])
      assert.equal(connection.log.at(-1), 'abort')
      assert.deepEqual(endpoint.attempts, [{ outcome: 'cancelled', status: 200 }])
    })
  }

  for (const [status, headers, trailers, expected] of [
    [200, '', undefined, 'gRPC status absent'],
    [200, '\r\ngrpc-status: 7', undefined, 'gRPC status 7'],
    [200, '\r\ngrpc-status: 7', '13', 'gRPC status 13'],
    [200, '', '0', 'gRPC status 0'],
    [503, '\r\ngrpc-status: 7', undefined, 'status 503'],
  ] as const) {
    it(`end with the reason that the service gives: ${expected}`, () => {
      const { endpoint, messages, closed } = open()
      const connection = endpoint.connect()
      connection.respond(`${status} X${headers}`)
      if (status !== 200) connection.events?.data(framed('page'), 9)
      connection.events?.ended(trailers === undefined ? undefined : trailersOf(trailers))
      assert.deepEqual([messages, closed], [[], [expected]])
    })
  }

  it('are limited to a number of streams at a time, and each that ends makes room', () => {
    const endpoint = new Endpoint()
    const openStream = streamOpener(endpoint.cluster)
    const closed: string[] = []
    const events = { message: () => {}, closed: (reason: string) => void closed.push(reason) }
    const streams = Array.from({ length: 1_024 }, () => openStream(exchangeOf(), '/x', events))
    assert.deepEqual(closed, [])
    openStream(exchangeOf(), '/x', events)
    assert.deepEqual(closed.splice(0), ['overloaded'])
    streams[0]?.stop()
    endpoint.waiting[1]?.unconnected('connect-refused')
    assert.deepEqual(closed.splice(0), ['connect-refused'])
    for (let i = 0; i < 3; i++) openStream(exchangeOf(), '/x', events)
    assert.deepEqual(closed, ['overloaded'])
  })
})

/** Trailers with a gRPC status. */
function trailersOf(status: string): Fields {
  const head = new ResponseHead()
  const bytes = Buffer.from(`HTTP/1.1 200 OK\r\ngrpc-status: ${status}\r\n\r\n`)
  readResponseHead(bytes, 0, bytes.length, HEAD_LIMITS, 'POST', head)
  return head.fields
}
