import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  fieldBlock,
  frame,
  HEADERS,
  RST_STREAM,
} from '../../../test/proxy/http2-gateway.ts'
import {
  CONTINUATION,
  GOAWAY,
  greetedUpstreams,
  PING,
  PUSH_PROMISE,
  ScriptedUpstream,
  SETTINGS,
  WINDOW_UPDATE,
  words,
} from '../../../test/proxy/scripted-upstream.ts'

const greeted = greetedUpstreams()

type Pairs = readonly (readonly [string, string])[]
const head = (fields: Pairs, flags = END_HEADERS, id = 1) =>
  frame(HEADERS, flags, id, fieldBlock(fields))
const OK: Pairs = [[':status', '200']]
const data = (text: string, flags = 0, id = 1) => frame(DATA, flags, id, Buffer.from(text))
const [ENDS_HEAD, LAST] = [END_HEADERS | END_STREAM, END_STREAM]
const setting = (id: number, value: number) => {
  const bytes = Buffer.alloc(6)
  bytes.writeUInt16BE(id)
  bytes.writeUInt32BE(value, 2)
  return frame(SETTINGS, 0, 0, bytes)
}
const times = (count: number, bytes: Buffer) => Buffer.concat(Array(count).fill(bytes))

const [NO_ERROR, PROTOCOL_ERROR, FLOW_CONTROL_ERROR, STREAM_CLOSED] = [0, 1, 3, 5]
const [FRAME_SIZE_ERROR, REJECTED, CANCEL, COMPRESSION_ERROR] = [6, 7, 8, 9]

describe('stream events of one request', () => {
  for (const [name, frames, reported, resets, method = 'GET'] of [
    ['a head alone', [head(OK, ENDS_HEAD)], ['200', 'ended'], []],
    [
      'a body with its length, padded',
      [
        head([...OK, ['content-length', '4']]),
        frame(DATA, 8, 1, Buffer.from([2, 0x61, 0x62, 0, 0])),
        data('cd', LAST),
      ],
      ['200 content-length=4', 'data abcd', 'ended'],
      [],
    ],
    [
      'trailers',
      [head(OK), data('ab'), head([['grpc-status', '0']], ENDS_HEAD)],
      ['200', 'data ab', 'ended grpc-status=0'],
      [],
    ],
    [
      'interim responses',
      [head([[':status', '100']]), head([[':status', '103']]), head(OK, ENDS_HEAD)],
      ['interim 100', 'interim 103', '200', 'ended'],
      [],
    ],
    [
      'a head in many frames',
      [
        frame(HEADERS, END_STREAM, 1, fieldBlock(OK)),
        frame(CONTINUATION, 0, 1, fieldBlock([['a', 'b']])),
        frame(CONTINUATION, END_HEADERS, 1, fieldBlock([['c', 'd']])),
      ],
      ['200 a=b c=d', 'ended'],
      [],
    ],
    ['a reset', [frame(RST_STREAM, 0, 1, words(2))], ['failed reset'], []],
    [
      'a reset within the body',
      [head([...OK, ['content-length', '9']]), data('ab'), frame(RST_STREAM, 0, 1, words(2))],
      ['200 content-length=9', 'data ab', 'failed reset'],
      [],
    ],
    [
      'a refusal was not looked at',
      [frame(RST_STREAM, 0, 1, words(REJECTED))],
      ['failed refused-stream untouched'],
      [],
    ],
    [
      'a refusal behind the head was',
      [head(OK), frame(RST_STREAM, 0, 1, words(REJECTED))],
      ['200', 'failed refused-stream'],
      [],
    ],
    ['no head', [data('', LAST)], ['failed bad-status-line'], [PROTOCOL_ERROR]],
    ['a body without a head', [data('a')], ['failed truncated-body'], [PROTOCOL_ERROR]],
    [
      'an interim response that ends the stream',
      [head([[':status', '100']], ENDS_HEAD)],
      ['failed truncated-body'],
      [PROTOCOL_ERROR],
    ],
    [
      'more than its length',
      [head([...OK, ['content-length', '0']]), data('ab')],
      ['200 content-length=0', 'failed truncated-body'],
      [PROTOCOL_ERROR],
    ],
    [
      'less than its length',
      [head([...OK, ['content-length', '3']]), data('ab', LAST)],
      ['200 content-length=3', 'data ab', 'failed truncated-body'],
      [PROTOCOL_ERROR],
    ],
    [
      'a length and no body',
      [head([...OK, ['content-length', '3']], ENDS_HEAD)],
      ['failed truncated-body'],
      [PROTOCOL_ERROR],
    ],
    [
      'the length of a body that HEAD has not',
      [head([...OK, ['content-length', '3']], ENDS_HEAD)],
      ['200 content-length=3', 'ended'],
      [],
      'HEAD',
    ],
    [
      'a body where there is none',
      [head([[':status', '204']]), data('a')],
      ['204', 'failed truncated-body'],
      [PROTOCOL_ERROR],
    ],
    [
      'trailers that do not end the stream',
      [head(OK), head([['a', 'b']])],
      ['200', 'failed bad-header-value'],
      [PROTOCOL_ERROR],
    ],
    [
      'a pseudo-header in trailers',
      [head(OK), head([[':status', '200']], ENDS_HEAD)],
      ['200', 'failed bad-header-name'],
      [PROTOCOL_ERROR],
    ],
    [
      'a name in upper case',
      [head([...OK, ['X-A', 'b']], ENDS_HEAD)],
      ['failed bad-header-name'],
      [PROTOCOL_ERROR],
    ],
    [
      'too many interim responses',
      [times(65, head([[':status', '103']]))],
      [...Array(64).fill('interim 103'), 'failed too-many-interim-responses'],
      [CANCEL],
    ],
    [
      'a window beyond all bounds',
      [frame(WINDOW_UPDATE, 0, 1, words(0x7fffffff))],
      ['failed reset'],
      [FLOW_CONTROL_ERROR],
    ],
  ] as const satisfies readonly (readonly [
    string,
    readonly Buffer[],
    readonly string[],
    readonly number[],
    string?,
  ])[]) {
    for (const length of [undefined, 1])
      it(`${name}${length === 1 ? ', byte by byte' : ''}`, async () => {
        const upstream = await greeted()
        const asked = upstream.ask(`${method} / HTTP/1.1\r\nhost: x\r\n\r\n`)
        await upstream.say(Buffer.concat(frames), length)
        assert.deepEqual(asked.reported, reported)
        assert.deepEqual(upstream.codes(3), resets)
        // Whatever the error was, it ends this stream only.
        const next = upstream.ask()
        await upstream.say(head(OK, ENDS_HEAD, 3), length)
        assert.deepEqual(next.reported, ['200', 'ended'])
        assert.deepEqual([upstream.closed, upstream.codes(7)], ['', []])
      })
  }
})

describe('errors that close the connection', () => {
  for (const [name, bytes, code] of [
    ['a push', frame(PUSH_PROMISE, END_HEADERS, 1, words(2)), PROTOCOL_ERROR],
    ['a stream of its own', head(OK, END_HEADERS, 2), PROTOCOL_ERROR],
    ['a stream that nobody opened', head(OK, END_HEADERS, 99), PROTOCOL_ERROR],
    [
      'a block that is none',
      frame(HEADERS, END_HEADERS, 1, Buffer.from([0xff])),
      COMPRESSION_ERROR,
    ],
    ['a frame that is too long', frame(DATA, 0, 1, Buffer.alloc(16_385)), FRAME_SIZE_ERROR],
    [
      'a window beyond all bounds',
      frame(WINDOW_UPDATE, 0, 0, words(0x7fffffff)),
      FLOW_CONTROL_ERROR,
    ],
    ['settings that allow to push', setting(2, 1), PROTOCOL_ERROR],
    ['a setting of RFC 8441 that is neither yes nor no', setting(8, 2), PROTOCOL_ERROR],
    [
      'another frame within a head',
      Buffer.concat([frame(HEADERS, 0, 1, fieldBlock(OK)), data('a')]),
      PROTOCOL_ERROR,
    ],
    [
      'a head on a stream that has ended',
      Buffer.concat([head(OK, ENDS_HEAD), head(OK, ENDS_HEAD)]),
      STREAM_CLOSED,
    ],
  ] as const) {
    it(name, async () => {
      const upstream = await greeted()
      const [first, second] = [upstream.ask(), upstream.ask()]
      await upstream.say(bytes)
      assert.deepEqual(upstream.codes(7), [code])
      assert.equal(upstream.closed, 'http2-error')
      assert.deepEqual(second.reported, ['failed http2-error'])
      assert.match(first.reported.join(), /^(200,ended|failed http2-error)$/)
      assert.equal(upstream.session.hasRoom, false)
    })
  }

  for (const [name, bytes] of [
    ['HTTP/1.1', Buffer.from('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n')],
    ['a first frame that is not SETTINGS', frame(PING, 0, 0, Buffer.alloc(8))],
  ] as const) {
    it(`${name} instead of a greeting`, async () => {
      const upstream = new ScriptedUpstream()
      await upstream.say(bytes)
      assert.deepEqual([upstream.isReady, upstream.closed], [false, 'no-http2'])
      upstream.close()
    })
  }
})

describe('flow-control windows', () => {
  const UPLOAD = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n'

  it('limit what is sent, per stream and per connection', async () => {
    const upstream = await greeted()
    const bodyOf = (id: number) =>
      upstream.sent
        .filter(({ type, stream }) => type === DATA && stream === id)
        .reduce((sum, { payload }) => sum + payload.length, 0)
    await upstream.say(setting(4, 10_000))
    const { stream, reported } = upstream.ask(UPLOAD, true)
    assert.equal(stream.write(Buffer.alloc(100_000)), false)
    await turn()
    assert.equal(bodyOf(1), 10_000)
    assert.equal(stream.isWritten, false)
    await upstream.say(frame(WINDOW_UPDATE, 0, 1, words(80_000)))
    assert.equal(bodyOf(1), 65_535)
    // §6.9.2: a negative window, which has to be made up for.
    await upstream.say(setting(4, 0))
    await upstream.say(frame(WINDOW_UPDATE, 0, 0, words(100_000)))
    assert.equal(bodyOf(1), 80_000)
    await upstream.say(frame(WINDOW_UPDATE, 0, 1, words(10_000)))
    assert.equal(bodyOf(1), 90_000)
    await upstream.say(setting(4, 10_000))
    assert.deepEqual([bodyOf(1), stream.isWritten, reported], [100_000, true, ['drained']])
    stream.end()
    await turn()
    assert.equal(upstream.sent.at(-1)?.flags, END_STREAM)
  })

  it('a stalled stream does not block others, and is limited to its window', async () => {
    const upstream = await greeted({ connectionWindow: 300_000, streamWindow: 100_000 })
    const stalled = Array.from({ length: 4 }, () => upstream.ask(undefined, false, () => false))
    for (const i of stalled.keys()) {
      await upstream.say(head(OK, END_HEADERS, 2 * i + 1))
      for (let sent = 0; sent < 96_000; sent += 16_000)
        await upstream.say(data('x'.repeat(16_000), 0, 2 * i + 1))
    }
    // 384,000 bytes are unconsumed, and the connection still has room.
    const next = upstream.ask()
    await upstream.say(Buffer.concat([head(OK, END_HEADERS, 9), data('quick', LAST, 9)]))
    assert.deepEqual(next.reported, ['200', 'data quick', 'ended'])
    assert.deepEqual(upstream.codes(3), [])
    await upstream.say(data('x'.repeat(5_000), 0, 1))
    assert.deepEqual(upstream.codes(3), [FLOW_CONTROL_ERROR])
    assert.equal(stalled[0]?.reported.at(-1), 'failed reset')
    stalled[1]?.stream.resume()
    assert.equal(stalled[1]?.reported.at(-1)?.length, 96_005)
  })

  it('a complete response survives the end of its connection', async () => {
    const upstream = await greeted()
    let takes = false
    const asked = upstream.ask(undefined, false, () => takes)
    await upstream.say(Buffer.concat([head(OK), data('a')]))
    await upstream.say(data('b', LAST))
    upstream.close()
    await turn()
    assert.deepEqual(asked.reported, ['200', 'data a'])
    takes = true
    asked.stream.resume()
    assert.deepEqual(asked.reported, ['200', 'data ab', 'ended'])
  })
})

describe('closing a connection', () => {
  it('GOAWAY lets processed streams finish, and returns the rest', async () => {
    const upstream = await greeted()
    const [first, second] = [upstream.ask(), upstream.ask()]
    const reserved = upstream.session.open()
    await upstream.say(frame(GOAWAY, 0, 0, words(0x7fffffff, NO_ERROR)))
    assert.deepEqual([first.reported, second.reported], [[], []])
    assert.equal(upstream.session.hasRoom, false)
    const late: string[] = []
    reserved.send('GET', 'GET / HTTP/1.1\r\nhost: x\r\n\r\n', false, 1_000, {
      idleTimeout: 1_000,
      interim() {},
      response: () => false,
      data: () => true,
      ended() {},
      failed: (reason, isUntouched) => void late.push(`${reason} ${isUntouched}`),
      drained() {},
    })
    await upstream.say(frame(GOAWAY, 0, 0, words(1, NO_ERROR)))
    assert.deepEqual(late, ['goaway true'])
    assert.deepEqual(second.reported, ['failed goaway untouched'])
    assert.equal(upstream.closed, '')
    await upstream.say(head(OK, ENDS_HEAD))
    assert.deepEqual(first.reported, ['200', 'ended'])
    assert.equal(upstream.closed, 'closed')
    assert.deepEqual(upstream.codes(7), [NO_ERROR])
  })

  it('an aborted request is reset, and its late frames are ignored', async () => {
    const upstream = await greeted()
    const asked = upstream.ask()
    await turn()
    asked.stream.abort()
    await upstream.say(Buffer.concat([head(OK), data('late'), head([['a', 'b']], ENDS_HEAD)]))
    assert.deepEqual([asked.reported, upstream.codes(3)], [[], [CANCEL]])
    assert.equal(upstream.closed, '')
  })

  it('a response before the request is complete ends both', async () => {
    const upstream = await greeted()
    const { reported } = upstream.ask(
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n',
      true,
    )
    await upstream.say(
      Buffer.concat([head(OK, ENDS_HEAD), frame(RST_STREAM, 0, 1, words(NO_ERROR))]),
    )
    assert.deepEqual([reported, upstream.codes(3)], [['200', 'ended'], [CANCEL]])
    assert.equal(upstream.closed, '')
  })
})
