import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  fieldBlock,
  frame,
  HEADERS,
  RST_STREAM,
} from '../../../test/proxy/http2-gateway.ts'
import { greetedUpstreams, words } from '../../../test/proxy/scripted-upstream.ts'
import { StreamPool } from './stream-pool.ts'

const greeted = greetedUpstreams()

const OK = fieldBlock([[':status', '200']])
const ENDS_HEAD = END_HEADERS | END_STREAM
const UPGRADE =
  'GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n' +
  'sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n'

describe('a stream pool', () => {
  it('returns ended streams once they are settled', () => {
    const pool = new StreamPool<string>()
    pool.put('a')
    assert.equal(pool.take(), undefined)
    pool.settle()
    assert.equal(pool.take(), 'a')
    assert.equal(pool.take(), undefined)
  })

  it('keeps a bounded number, and none for an idle connection', () => {
    const pool = new StreamPool<number>()
    for (let i = 0; i < 1_000; i++) pool.put(i)
    pool.settle()
    let taken = 0
    while (pool.take() !== undefined) taken++
    assert.equal(taken, 64)
    pool.put(1)
    pool.settle()
    pool.put(2)
    pool.clear()
    pool.settle()
    assert.equal(pool.take(), undefined)
  })
})

describe('a stream to an upstream is reused', () => {
  it('after its response, without state of the previous request', async () => {
    const upstream = await greeted()
    const first = upstream.ask('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n', true)
    first.stream.write(Buffer.from('ab'))
    first.stream.end()
    const trailers = fieldBlock([['a', '1']])
    await upstream.say(
      Buffer.concat([
        frame(HEADERS, END_HEADERS, 1, OK),
        frame(DATA, 0, 1, Buffer.from('first')),
        frame(HEADERS, ENDS_HEAD, 1, trailers),
      ]),
    )
    const second = upstream.ask()
    assert.equal(second.stream, first.stream)
    await upstream.say(frame(HEADERS, ENDS_HEAD, 3, OK))
    assert.deepEqual(first.reported, ['200', 'data first', 'ended a=1'])
    assert.deepEqual(second.reported, ['200', 'ended'])
  })

  it('but not while its response is not consumed', async () => {
    const upstream = await greeted()
    const first = upstream.ask(undefined, false, () => false)
    await upstream.say(
      Buffer.concat([frame(HEADERS, END_HEADERS, 1, OK), frame(DATA, 0, 1, Buffer.from('a'))]),
    )
    await upstream.say(frame(DATA, END_STREAM, 1, Buffer.from('b')))
    const second = upstream.ask()
    assert.notEqual(second.stream, first.stream)
    first.stream.resume()
    first.stream.resume()
    assert.deepEqual(first.reported, ['200', 'data ab', 'ended'])
    assert.deepEqual(second.reported, [])
  })

  it('but not if either side aborted it', async () => {
    const upstream = await greeted()
    const [left, cut] = [upstream.ask(), upstream.ask()]
    left.stream.abort()
    await upstream.say(frame(RST_STREAM, 0, cut.stream.id, words(2)))
    const next = upstream.ask()
    assert.ok(next.stream !== left.stream && next.stream !== cut.stream)
    // A caller that still has the stream may end it again.
    left.stream.abort()
    cut.stream.abort()
    await upstream.say(frame(HEADERS, ENDS_HEAD, next.stream.id, OK))
    assert.deepEqual(next.reported, ['200', 'ended'])
  })

  it('but not after a tunnel, whose other end may still send', async () => {
    const settings = Buffer.alloc(6)
    settings.writeUInt16BE(8)
    settings.writeUInt32BE(1, 2)
    const upstream = await greeted({}, frame(4, 0, 0, settings))
    const tunnel = upstream.ask(UPGRADE)
    await upstream.say(frame(HEADERS, END_HEADERS, 1, OK))
    tunnel.stream.tunnel(60_000)
    await upstream.say(frame(DATA, END_STREAM, 1, Buffer.from('bye')))
    const next = upstream.ask()
    assert.notEqual(next.stream, tunnel.stream)
    tunnel.stream.write(Buffer.from('late'))
    tunnel.stream.abort()
    await upstream.say(frame(HEADERS, ENDS_HEAD, 3, OK))
    assert.deepEqual(next.reported, ['200', 'ended'])
  })
})
