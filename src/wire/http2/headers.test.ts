import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { renderTrailers } from '../http1/chunked.ts'
import { HEAD_LIMITS } from '../http1/message.ts'
import { refusalOf } from '../http1/rejections.ts'
import { ResponseHead } from '../http1/response-head.ts'
import { readHttp2Response, requestHeaders } from './client-headers.ts'
import { headerObject, readHttp2Trailers, trailerHeaders } from './headers.ts'
import { Allowance } from './limits.ts'
import { isPreface } from './preface.ts'

const pairs = (list: readonly string[]) =>
  list.flatMap((name, i) => (i % 2 === 0 && name !== 'date' ? [`${name}=${list[i + 1]}`] : []))

describe('lists of headers', () => {
  it('an object has repeated fields as an array', () =>
    assert.deepEqual(
      { ...headerObject(['a', '1', 'b', '2', 'a', '3', 'a', '4']) },
      {
        a: ['1', '3', '4'],
        b: '2',
      },
    ))
})

describe('trailers', () => {
  it('are read as HTTP/1.1 reads them, less what comes too late there', () => {
    const trailers = readHttp2Trailers(['grpc-status', '0', 'content-length', '5', 'x', 'y'])
    assert.ok(typeof trailers === 'object')
    assert.deepEqual(trailerHeaders(trailers), ['grpc-status', '0', 'x', 'y'])
    assert.equal(renderTrailers(trailers), 'grpc-status: 0\r\nx: y\r\n\r\n')
  })

  for (const [name, raw, word] of [
    ['CRLF', ['x', 'a\r\nb: c'], 'bare-lf'],
    ['a pseudo-header', [':status', '200'], 'bad-header-name'],
    ['too many', Array(80).fill('x'), 'too-many-headers'],
    ['too large', ['x', 'y'.repeat(9_000)], 'trailers-too-large'],
  ] as const) {
    it(`${name}: ${word}`, () => {
      const verdict = readHttp2Trailers(raw)
      assert.equal(typeof verdict === 'number' ? refusalOf(verdict).word : '', word)
    })
  }
})

describe('requests on their way to an upstream of HTTP/2', () => {
  for (const [name, text, fields, isChunked, upgrade] of [
    [
      'a request',
      'GET /a?b HTTP/1.1\r\nHost: x\r\nX-A:  1 \r\n\r\n',
      [':method=GET', ':scheme=http', ':authority=x', ':path=/a?b', 'x-a=1'],
      false,
      '',
    ],
    [
      'trailers and chunks',
      'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\nconnection: te\r\nte: trailers\r\n\r\n',
      [':method=POST', ':scheme=http', ':authority=x', ':path=/', 'te=trailers'],
      true,
      '',
    ],
    [
      'an upgrade',
      'GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
      [':method=GET', ':scheme=http', ':authority=x', ':path=/'],
      false,
      'websocket',
    ],
    [
      'no host',
      'OPTIONS * HTTP/1.1\r\nhost: \r\n\r\n',
      [':method=OPTIONS', ':scheme=http', ':authority=backend', ':path=*'],
      false,
      '',
    ],
  ] as const) {
    it(name, () => {
      const request = requestHeaders(text, 'http', 'backend')
      assert.deepEqual(pairs(request.headers), fields)
      assert.deepEqual([request.isChunked, request.upgrade], [isChunked, upgrade])
    })
  }
})

describe('answers of an upstream of HTTP/2', () => {
  for (const [name, raw, expected] of [
    ['a length', [':status', '200', 'content-length', '5'], 'length'],
    ['no length', [':status', '200', 'x-a', '1'], 'close'],
    ['204', [':status', '204'], 'none'],
    ['no status', ['x-a', '1'], 'bad-status-line'],
    ['a status of two digits', [':status', '20'], 'bad-status-line'],
    ['101', [':status', '101'], 'bad-status-line'],
    ['CRLF', [':status', '200', 'x', 'a\r\nb: c'], 'bare-lf'],
    ['a second status', [':status', '200', ':status', '200'], 'bad-header-name'],
    ['connection', [':status', '200', 'connection', 'close'], 'bad-connection'],
    ['transfer-encoding', [':status', '200', 'transfer-encoding', 'chunked'], 'bad-connection'],
  ] as const) {
    it(`${name}: ${expected}`, () => {
      const head = new ResponseHead()
      const verdict = readHttp2Response(raw, 'GET', HEAD_LIMITS, head)
      assert.equal(verdict > 0 ? head.framing : refusalOf(verdict).word, expected)
    })
  }
})

describe('small things', () => {
  for (const [text, expected] of [
    ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', true],
    ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nmore', true],
    ['PRI * HT', undefined],
    ['P', undefined],
    ['', undefined],
    ['POST / HTTP/1.1\r\n', false],
    ['PRI * HTTP/2.0\r\n\r\nXX', false],
  ] as const) {
    it(`${JSON.stringify(text)} begins HTTP/2: ${expected}`, () =>
      assert.equal(isPreface(Buffer.from(text)), expected))
  }

  it('an allowance is spent and grows again, but not beyond its burst', () => {
    const allowance = new Allowance({ perSecond: 10, burst: 5 }, 0)
    for (let i = 0; i < 5; i++) assert.equal(allowance.spend(1, 0), true)
    assert.equal(allowance.spend(1, 0), false)
    assert.equal(allowance.spend(1, 300), true)
    assert.equal(allowance.spend(5, 60_000), true)
    assert.equal(allowance.spend(1, 60_000), false)
  })
})
