import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { exchangeOf } from '../../test/fuzz/exchanges.ts'
import { NO_EDIT } from '../exchange/header-edit.ts'
import { Endpoint, Scripted } from '../upstream/fixtures/scripted-endpoint.ts'
import { RequestHead, readRequestHead } from '../wire/http1/head.ts'
import { HEAD_LIMITS } from '../wire/http1/message.ts'
import { MAX_WAITING, MirrorCopy } from './mirror.ts'

const CHUNKED = 'Transfer-Encoding: chunked\r\n'
const FIVE = 'Content-Length: 5\r\n'

/** A copy of a request, and everything that it reported. */
function copyOf(lines: string, { isDecoded = false, endpoint = new Endpoint(), path = '/x' } = {}) {
  const head = new RequestHead()
  const bytes = Buffer.from(`POST /x HTTP/1.1\r\nHost: a\r\n${lines}\r\n`)
  assert.equal(readRequestHead(bytes, 0, bytes.length, HEAD_LIMITS, head), bytes.length)
  const reported: number[] = []
  const errors: unknown[] = []
  const exchange = exchangeOf({ method: 'POST' })
  exchange.path = path
  const copy = MirrorCopy.send(
    undefined as never,
    head,
    exchange,
    NO_EDIT,
    endpoint.cluster,
    isDecoded,
    (status) => reported.push(status),
    (error) => errors.push(error),
  )
  return { copy: copy as MirrorCopy, endpoint, reported, errors }
}

const text = (value: string) => Buffer.from(value)
const LINE = 'POST /x HTTP/1.1'

describe('a copy of a request', () => {
  for (const when of ['before', 'after'] as const) {
    for (const [sentence, lines, isDecoded, expected] of [
      ['with a length', FIVE, false, ['ab', 'cde', 'end']],
      ['with its chunk framing', CHUNKED, false, ['ab', 'cde', 'end']],
      [
        'without its chunk framing',
        CHUNKED,
        true,
        ['2\r\n', 'ab', '\r\n', '3\r\n', 'cde', '\r\n', '0\r\n\r\n', 'end'],
      ],
    ] as const) {
      it(`gets a body ${sentence} that arrives ${when} there is a connection`, () => {
        const { copy, endpoint, reported } = copyOf(lines, { isDecoded })
        const connection = new Scripted()
        if (when === 'after') endpoint.connect(connection)
        assert.equal(copy.write(text('ab')), true)
        assert.equal(copy.write(text('')), true)
        assert.equal(copy.write(text('cde')), true)
        copy.end(undefined)
        if (when === 'before') endpoint.connect(connection)
        const [line, ...body] = connection.log
        assert.equal(line, LINE)
        // Pieces may have been joined while they waited.
        const joined = (all: readonly string[]) =>
          all.join('').replace('5\r\nabcde', '2\r\nab\r\n3\r\ncde')
        assert.equal(joined(body), joined(expected))
        connection.respond('201 Created')
        assert.equal(connection.events?.data(text('ignored'), 7), true)
        connection.events?.ended(undefined)
        connection.events?.failed('reset', false)
        assert.deepEqual(reported, [201])
        assert.deepEqual(endpoint.attempts, [{ outcome: 'responded', status: 0 }])
      })
    }
  }

  it('without a body has no end of its own', () => {
    const { copy, endpoint } = copyOf('')
    copy.end(undefined)
    assert.deepEqual(endpoint.connect().log, [LINE])
  })

  for (const [sentence, end] of [
    ['fails', (connection: Scripted) => connection.events?.failed('reset', false)],
    [
      'cannot be sent',
      (_: Scripted, { waiting }: Endpoint) => waiting[0]?.unconnected('pending-timeout'),
    ],
  ] as const) {
    it(`that ${sentence} is reported as one without a response`, () => {
      const { copy, endpoint, reported } = copyOf(FIVE)
      const connection = new Scripted()
      if (sentence === 'fails') endpoint.connect(connection)
      end(connection, endpoint)
      connection.log.length = 0
      copy.write(text('late'))
      copy.end(undefined)
      copy.abort()
      assert.deepEqual([reported, connection.log], [[0], []])
      assert.deepEqual(endpoint.attempts, [{ outcome: 'cancelled', status: 0 }])
    })
  }

  it('is given up, with or without a connection', () => {
    for (const isConnected of [true, false]) {
      const { copy, endpoint, reported } = copyOf(FIVE)
      const connection = new Scripted()
      if (isConnected) endpoint.connect(connection)
      connection.log.length = 0
      copy.abort()
      copy.abort()
      assert.equal(endpoint.cancelled, 1)
      if (!isConnected) endpoint.connect(connection)
      assert.deepEqual(connection.log, [isConnected ? 'abort' : 'release'])
      assert.deepEqual(reported, [0])
    }
  })

  it('is given up if it falls behind, but never delays the request', () => {
    for (const state of ['waiting', 'slow', 'resumed', 'fast'] as const) {
      const { copy, endpoint, reported } = copyOf(CHUNKED)
      const connection = new Scripted()
      connection.acceptsMore = state === 'fast'
      if (state !== 'waiting') endpoint.connect(connection)
      const half = Buffer.alloc(MAX_WAITING / 2)
      assert.equal(copy.write(half), true)
      assert.equal(copy.write(half), true)
      assert.deepEqual(reported, [])
      if (state === 'resumed') connection.events?.drained()
      assert.equal(copy.write(text('x')), true)
      const isLate = state === 'waiting' || state === 'slow'
      assert.deepEqual(reported, isLate ? [0] : [], state)
      assert.equal(copy.write(text('y')), true)
    }
  })

  it('is sent on an idle connection if there is one', () => {
    const endpoint = new Endpoint()
    const idle = new Scripted()
    endpoint.idle = idle
    copyOf(FIVE, { endpoint })
    assert.deepEqual([idle.log, endpoint.waiting.length], [[LINE], 0])
  })

  it('is not made without an endpoint, or if it cannot be written', () => {
    const none = new Endpoint()
    none.problem = 'no-endpoint'
    const { copy, reported } = copyOf(FIVE, { endpoint: none })
    assert.deepEqual([copy, reported], [undefined, []])
    const broken = copyOf(FIVE, { path: '/a b' })
    assert.deepEqual([broken.copy, broken.endpoint.waiting.length], [undefined, 0])
    assert.deepEqual(broken.endpoint.attempts, [{ outcome: 'cancelled', status: 0 }])
  })

  it('that throws is given up, and the error reported', () => {
    const endpoint = new Endpoint()
    const { copy, errors, reported } = copyOf(FIVE, { endpoint })
    const connection = new Scripted()
    const error = new Error('broken')
    Object.assign(connection.connection, {
      write: () => {
        throw error
      },
    })
    endpoint.connect(connection)
    assert.equal(copy.write(text('a')), true)
    assert.equal(copy.write(text('b')), true)
    assert.deepEqual([errors, reported], [[error], [0]])
    assert.equal(connection.log.at(-1), 'abort')
    const choosing = new Endpoint()
    Object.assign(choosing.cluster, {
      choose: () => {
        throw error
      },
    })
    const second = copyOf(FIVE, { endpoint: choosing })
    assert.deepEqual([second.copy, second.errors], [undefined, [error]])
  })
})
