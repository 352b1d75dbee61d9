import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findField, joinedValue } from './fields.ts'
import { HEAD_LIMITS } from './message.ts'
import { rejectionOf } from './rejections.ts'
import { isInterim, ResponseHead, readResponseHead } from './response-head.ts'

function read(text: string, method = 'GET'): ResponseHead | string {
  const head = new ResponseHead()
  const bytes = Buffer.from(text, 'latin1')
  const at = readResponseHead(bytes, 0, bytes.length, HEAD_LIMITS, method, head)
  if (at < 0) return rejectionOf(at).word
  return at === 0 ? 'more' : head
}

describe('response framing', () => {
  for (const [method, status, line, framing, length, keepAlive] of [
    ['GET', '200 OK', 'Content-Length: 5', 'length', 5, true],
    ['GET', '200 OK', 'Content-Length: 0', 'none', 0, true],
    ['GET', '200 OK', 'Transfer-Encoding: chunked', 'chunked', -1, true],
    ['GET', '200 OK', 'X: y', 'close', -1, false],
    ['GET', '200 OK', 'Connection: close', 'close', -1, false],
    ['GET', '200 OK', 'Content-Length: 5\r\nConnection: close', 'length', 5, false],
    ['HEAD', '200 OK', 'Content-Length: 5', 'none', 5, true],
    ['HEAD', '200 OK', 'Transfer-Encoding: chunked', 'none', -1, true],
    ['HEAD', '200 OK', 'X: y', 'none', -1, true],
    ['GET', '304 Not Modified', 'Content-Length: 5', 'none', 5, true],
    ['GET', '204 No Content', 'X: y', 'none', -1, true],
    ['GET', '204 No Content', 'Content-Length: 0', 'none', 0, true],
    ['GET', '100 Continue', 'X: y', 'none', -1, true],
    [
      'GET',
      '101 Switching Protocols',
      'Connection: upgrade\r\nUpgrade: websocket',
      'none',
      -1,
      true,
    ],
  ] as const) {
    it(`${method}, ${status}, ${JSON.stringify(line)}: ${framing}`, () => {
      const head = read(`HTTP/1.1 ${status}\r\n${line}\r\n\r\n`, method)
      assert.ok(typeof head === 'object', String(head))
      assert.deepEqual([head.framing, head.length, head.keepAlive], [framing, length, keepAlive])
    })
  }
  it('a length without keep-alive ends the connection in HTTP/1.0', () => {
    const head = read('HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n') as ResponseHead
    assert.deepEqual([head.framing, head.minor, head.keepAlive], ['length', 0, false])
  })
})

describe('the status line', () => {
  for (const [line, status, reason] of [
    ['HTTP/1.1 200 OK', 200, 'OK'],
    ['HTTP/1.1 404 Not Found at\tall', 404, 'Not Found at\tall'],
    ['HTTP/1.1 599 ', 599, ''],
    ['HTTP/1.1 600 X', 600, 'X'],
    ['HTTP/1.1 999 X', 999, 'X'],
    ['HTTP/1.1 200', 200, ''],
    ['HTTP/1.0 200 D\xe9j\xe0', 200, 'D\xe9j\xe0'],
  ] as const) {
    it(`${JSON.stringify(line)}: ${status}`, () => {
      const head = read(`${line}\r\n\r\n`) as ResponseHead
      assert.deepEqual([head.status, head.reason], [status, reason])
    })
  }
  it('100 and 103 are interim, 101 and 200 are not', () => {
    const of = (status: number) => isInterim(read(`HTTP/1.1 ${status} X\r\n\r\n`) as ResponseHead)
    assert.deepEqual([100, 103, 101, 200].map(of), [true, true, false, false])
  })
})

describe('ambiguous upstream responses', () => {
  for (const [name, text, word] of [
    [
      'both lengths',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      'both-lengths',
    ],
    [
      'two lengths',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      'duplicate-content-length',
    ],
    [
      'another coding',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n',
      'unknown-transfer-coding',
    ],
    [
      'chunks in HTTP/1.0',
      'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
      'transfer-coding-in-http-1.0',
    ],
    [
      'chunks with 204',
      'HTTP/1.1 204 X\r\nTransfer-Encoding: chunked\r\n\r\n',
      'transfer-coding-without-body',
    ],
    [
      'chunks with 100',
      'HTTP/1.1 100 X\r\nTransfer-Encoding: chunked\r\n\r\n',
      'transfer-coding-without-body',
    ],
    ['a bare LF', 'HTTP/1.1 200 OK\nX: y\r\n\r\n', 'bare-lf'],
    ['a bare CR', 'HTTP/1.1 200 OK\rX: y\r\n\r\n', 'bare-cr'],
    ['a folded field', 'HTTP/1.1 200 OK\r\nX: y\r\n z\r\n\r\n', 'obs-fold'],
    ['NUL', 'HTTP/1.1 200 OK\r\nX: \0\r\n\r\n', 'nul'],
    ['an empty line in front', '\r\nHTTP/1.1 200 OK\r\n\r\n', 'bad-status-line'],
    ['two digits', 'HTTP/1.1 20 OK\r\n\r\n', 'bad-status-line'],
    ['four digits', 'HTTP/1.1 2000 OK\r\n\r\n', 'bad-status-line'],
    ['status 099', 'HTTP/1.1 099 X\r\n\r\n', 'bad-status-line'],
    ['HTTP/2.0', 'HTTP/2.0 200 OK\r\n\r\n', 'unknown-version'],
    ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n', 'bad-status-line'],
    [
      'Connection that hides a cookie',
      'HTTP/1.1 200 OK\r\nConnection: set-cookie\r\n\r\n',
      'connection-names-end-to-end',
    ],
  ] as const) {
    it(`${name}: ${word}`, () => assert.equal(read(text), word))
  }
})

describe('a response in pieces', () => {
  const text =
    'HTTP/1.1 200 All right\r\nContent-Length: 2\r\nX-A: b\r\nConnection: x-c\r\nX-C: d\r\n\r\nok'
  it('is the same byte by byte, with one reused object', () => {
    const head = new ResponseHead()
    for (let turn = 0; turn < 3; turn++) {
      for (let to = 1; to < text.length - 2; to++) {
        const bytes = Buffer.from(text.slice(0, to), 'latin1')
        assert.equal(readResponseHead(bytes, 0, to, HEAD_LIMITS, 'GET', head), 0)
      }
      const bytes = Buffer.from(text, 'latin1')
      assert.equal(
        readResponseHead(bytes, 0, bytes.length, HEAD_LIMITS, 'GET', head),
        text.length - 2,
      )
      assert.equal(head.reason, 'All right')
      assert.equal(joinedValue(head.fields, 'x-a'), 'b')
      assert.equal(findField(head.fields, 'x-c'), -1)
    }
  })
})

describe('repeated equal lengths', () => {
  it('count as one (RFC 9110 §8.6)', () => {
    const lines = 'Content-Length: 3\r\ncontent-length: 3\r\nCONTENT-LENGTH: 3\r\n'
    const bytes = Buffer.from(`HTTP/1.1 200 OK\r\n${lines}\r\n`, 'latin1')
    const head = new ResponseHead()
    const at = readResponseHead(bytes, 0, bytes.length, HEAD_LIMITS, 'GET', head)
    assert.deepEqual([at, head.framing, head.length], [bytes.length, 'length', 3])
  })
})
