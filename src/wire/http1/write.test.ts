import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type FieldLines,
  fieldLine,
  joinLines,
  NO_LINES,
  NO_NAMES,
  nameSet,
} from './field-lines.ts'
import { RequestHead, readRequestHead } from './head.ts'
import { HEAD_LIMITS } from './message.ts'
import { ResponseHead, readResponseHead } from './response-head.ts'
import {
  dateLine,
  type OutgoingRequest,
  type OutgoingResponse,
  renderReplyHead,
  renderRequestHead,
  renderResponseHead,
} from './write.ts'

const DATE = dateLine(784_111_777_000)

function request(lines: readonly string[], changes: Partial<OutgoingRequest> = {}): string[] {
  const bytes = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  const head = new RequestHead()
  assert.equal(readRequestHead(bytes, 0, bytes.length, HEAD_LIMITS, head), bytes.length)
  const { path, query, framing, length } = head
  const same = { path, query, framing, length, host: '', upgrade: '', expectContinue: false }
  const text = renderRequestHead(head, { ...same, lines: NO_LINES, dropped: NO_NAMES, ...changes })
  return linesOf(text)
}

function response(lines: readonly string[], changes: Partial<OutgoingResponse> = {}): string[] {
  const bytes = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  const head = new ResponseHead()
  assert.equal(readResponseHead(bytes, 0, bytes.length, HEAD_LIMITS, 'GET', head), bytes.length)
  const { framing, length } = head
  const same = { framing, length, connection: '', upgrade: '', date: DATE } as const
  const text = renderResponseHead(head, { ...same, lines: NO_LINES, dropped: NO_NAMES, ...changes })
  return linesOf(text)
}

/** The lines of a complete head; none if it was rejected. */
function linesOf(text: string): string[] {
  if (text === '') return []
  assert.ok(text.endsWith('\r\n\r\n'))
  return text.slice(0, -4).split('\r\n')
}

const LINE = 'GET /a?b HTTP/1.1'

describe('a request to the upstream', () => {
  for (const [name, received, changes, expected] of [
    ['goes as it came', [LINE, 'Host: a', 'X-One:  1 '], {}, [LINE, 'Host: a', 'X-One:  1 ']],
    [
      'has no fields of the connection',
      [
        LINE,
        'Host: a',
        'Connection: keep-alive, x-mine',
        'Keep-Alive: 5',
        'X-Mine: 1',
        'Proxy-Connection: x',
        'Upgrade: h2c',
        'HTTP2-Settings: AAMAAABk',
        'Proxy-Authorization: x',
        'A: b',
      ],
      {},
      [LINE, 'Host: a', 'A: b'],
    ],
    [
      'has the length that its body has',
      [LINE, 'Host: a', 'Content-Length: 0007', 'A: b'],
      {},
      [LINE, 'Host: a', 'A: b', 'content-length: 7'],
    ],
    [
      'has another length where the body was changed',
      [LINE, 'Host: a', 'Content-Length: 7'],
      { length: 9 },
      [LINE, 'Host: a', 'content-length: 9'],
    ],
    [
      'is chunked by our word',
      [LINE, 'Host: a', 'Transfer-Encoding:  CHUNKED', 'Trailer: x'],
      {},
      [LINE, 'Host: a', 'Trailer: x', 'transfer-encoding: chunked'],
    ],
    [
      'names no trailers where there can be none',
      [LINE, 'Host: a', 'Transfer-Encoding: chunked', 'Trailer: x'],
      { framing: 'length', length: 1 },
      [LINE, 'Host: a', 'content-length: 1'],
    ],
    [
      'has no look-alikes of the framing',
      [LINE, 'Host: a', 'Content_Length: 5', 'transfer_encoding: chunked', 'Keep_Alive: x'],
      {},
      [LINE, 'Host: a'],
    ],
    [
      'goes to another path',
      [LINE, 'Host: a', 'A: b'],
      { path: '/c', query: '' },
      ['GET /c HTTP/1.1', 'Host: a', 'A: b'],
    ],
    [
      'goes to another host, which comes first',
      [LINE, 'A: b', 'Host: a'],
      { host: 'up:80' },
      [LINE, 'host: up:80', 'A: b'],
    ],
    [
      'of HTTP/1.0 becomes HTTP/1.1',
      ['GET / HTTP/1.0'],
      { host: 'up' },
      ['GET / HTTP/1.1', 'host: up'],
    ],
    [
      'in absolute form loses it',
      ['GET http://a/b HTTP/1.1', 'Host: a'],
      {},
      ['GET /b HTTP/1.1', 'Host: a'],
    ],
    ['loses the empty line in front', ['', LINE, 'Host: a'], {}, [LINE, 'Host: a']],
    [
      'loses what is removed, underscored too',
      [LINE, 'Host: a', 'X-User: 1', 'x_user: 2', 'A: b'],
      { dropped: nameSet(['x-user']) },
      [LINE, 'Host: a', 'A: b'],
    ],
    [
      'keeps its host even where that is removed',
      [LINE, 'Host: a'],
      { dropped: nameSet(['host']) },
      [LINE, 'Host: a'],
    ],
    [
      'gets what is added',
      [LINE, 'Host: a'],
      { lines: line('x-id', '7') },
      [LINE, 'Host: a', 'x-id: 7'],
    ],
    [
      'waits where the client does',
      [LINE, 'Host: a', 'Expect: 100-continue'],
      { expectContinue: true },
      [LINE, 'Host: a', 'expect: 100-continue'],
    ],
    ['does not wait of itself', [LINE, 'Host: a', 'Expect: 100-continue'], {}, [LINE, 'Host: a']],
    [
      'is upgraded where we say so',
      [LINE, 'Host: a', 'Connection: Upgrade', 'Upgrade: WebSocket'],
      { upgrade: 'websocket' },
      [LINE, 'Host: a', 'connection: upgrade', 'upgrade: websocket'],
    ],
    [
      'tells that trailers are welcome',
      [LINE, 'Host: a', 'TE: trailers, gzip'],
      {},
      [LINE, 'Host: a', 'connection: te', 'te: trailers'],
    ],
    ['is not written to a path with a line end', [LINE, 'Host: a'], { path: '/a\r\nb' }, []],
    ['is not written to a path with a space', [LINE, 'Host: a'], { path: '/a b' }, []],
    [
      'is not written to a path that latin1 would cut to a line end',
      [LINE, 'Host: a'],
      { path: '/\u010d\u010a' },
      [],
    ],
    ['is not written to a path without slash', [LINE, 'Host: a'], { path: 'a' }, []],
    ['is not written to a query without question mark', [LINE, 'Host: a'], { query: 'b' }, []],
    ['is not written to a host with a line end', [LINE, 'Host: a'], { host: 'a\r\nb: c' }, []],
    ['is not upgraded to a line end', [LINE, 'Host: a'], { upgrade: 'a\nb' }, []],
  ] as const) {
    it(name, () => assert.deepEqual(request(received, changes), expected))
  }
  it('cannot be framed by connection close', () => {
    assert.throws(() => request([LINE, 'Host: a'], { framing: 'close' }), RangeError)
    assert.throws(() => request([LINE, 'Host: a'], { framing: 'length', length: -1 }), RangeError)
  })
})

describe('a response to the client', () => {
  const OK = 'HTTP/1.1 200 OK'
  const THEN = 'Date: Mon, 07 Nov 1994 08:49:37 GMT'
  const NOW = 'date: Sun, 06 Nov 1994 08:49:37 GMT'
  for (const [name, received, changes, expected] of [
    [
      'goes as it came',
      [OK, THEN, 'Content-Length: 2', 'X: y'],
      {},
      [OK, THEN, 'X: y', 'content-length: 2'],
    ],
    ['gets a date', [OK, 'Content-Length: 0'], {}, [OK, NOW, 'content-length: 0']],
    [
      'has no fields of the connection',
      [
        OK,
        THEN,
        'Connection: close, x-mine',
        'X-Mine: 1',
        'Keep-Alive: x',
        'Proxy-Authenticate: x',
        'Transfer-Encoding: chunked',
      ],
      {},
      [OK, THEN, 'transfer-encoding: chunked'],
    ],
    [
      'says what becomes of the connection',
      [OK, THEN, 'Content-Length: 0'],
      { connection: 'close' },
      [OK, THEN, 'content-length: 0', 'connection: close'],
    ],
    [
      'of HTTP/1.0 becomes HTTP/1.1',
      ['HTTP/1.0 200 Fine', THEN, 'Content-Length: 1'],
      {},
      ['HTTP/1.1 200 Fine', THEN, 'content-length: 1'],
    ],
    [
      'gets the space that it lacks',
      ['HTTP/1.1 404', THEN, 'Content-Length: 1'],
      {},
      ['HTTP/1.1 404 ', THEN, 'content-length: 1'],
    ],
    [
      '204 has no length',
      ['HTTP/1.1 204 No Content', THEN, 'Content-Length: 0'],
      {},
      ['HTTP/1.1 204 No Content', THEN],
    ],
    [
      '304 keeps its length',
      ['HTTP/1.1 304 Not Modified', THEN, 'Content-Length: 5'],
      {},
      ['HTTP/1.1 304 Not Modified', THEN, 'content-length: 5'],
    ],
    [
      '103 has neither length nor date nor connection',
      ['HTTP/1.1 103 Early Hints', 'Link: x'],
      { connection: 'close' },
      ['HTTP/1.1 103 Early Hints', 'Link: x'],
    ],
    [
      '101 is upgraded',
      [
        'HTTP/1.1 101 Switching Protocols',
        'Upgrade: websocket',
        'Connection: upgrade',
        'Sec-WebSocket-Accept: x',
      ],
      { upgrade: 'websocket' },
      [
        'HTTP/1.1 101 Switching Protocols',
        'Sec-WebSocket-Accept: x',
        'connection: upgrade',
        'upgrade: websocket',
      ],
    ],
    [
      'loses and gets what is changed',
      [OK, THEN, 'Server: x', 'Content-Length: 0'],
      { dropped: nameSet(['Server']), lines: line('server', 'y') },
      [OK, THEN, 'content-length: 0', 'server: y'],
    ],
  ] as const) {
    it(name, () => assert.deepEqual(response(received, changes), expected))
  }
})

describe('a local response', () => {
  const own = { lines: NO_LINES, upgrade: '', date: DATE } as const
  it('has a reason, a date and its length', () => {
    const text = renderReplyHead(404, { ...own, framing: 'length', length: 9, connection: 'close' })
    const date = 'date: Sun, 06 Nov 1994 08:49:37 GMT'
    const lines = ['HTTP/1.1 404 Not Found', date, 'content-length: 9', 'connection: close']
    assert.deepEqual(linesOf(text), lines)
  })
  it('100 is only the status line', () => {
    const text = renderReplyHead(100, { ...own, framing: 'none', length: -1, connection: '' })
    assert.equal(text, 'HTTP/1.1 100 Continue\r\n\r\n')
  })
})

function line(name: string, value: string): FieldLines {
  return fieldLine(name, value) ?? assert.fail(`${name}: ${value}`)
}

describe('a field line', () => {
  it('has a name and a value, in UTF-8', () => {
    assert.equal(joinLines(line('a', 'b\tc'), line('D', '\xe9')), 'a: b\tc\r\nD: \xc3\xa9\r\n')
    // Cut to one byte, this would be the end of the line.
    assert.equal(line('a', '\u010a'), 'a: \xc4\x8a\r\n')
    assert.equal(line('a', '\u{1f600}'), 'a: \xf0\x9f\x98\x80\r\n')
  })
  for (const [name, value] of [
    ['a', 'b\r\nc: d'],
    ['a', 'b\n'],
    ['a', 'b\r'],
    ['a', '\0'],
    ['a', '\x7f'],
    ['a', '\ud83d'],
    ['', 'b'],
    ['a b', 'c'],
    ['a:', 'b'],
    ['a\r\nb', 'c'],
    ['\xe4', 'b'],
    ...['Content-Length', 'transfer-encoding', 'Connection', 'upgrade', 'host', 'te'].map(
      (reserved) => [reserved, '1'] as const,
    ),
  ] as const) {
    it(`${JSON.stringify(name)} with ${JSON.stringify(value)} is none`, () => {
      assert.equal(fieldLine(name, value), undefined)
    })
  }
})
