import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fieldName, fieldValue, findField, joinedValue } from './fields.ts'
import { RequestHead, readRequestHead } from './head.ts'
import { HEAD_LIMITS, type HeadLimits } from './message.ts'
import { rejectionOf } from './rejections.ts'

function read(text: string, limits: HeadLimits = HEAD_LIMITS): RequestHead {
  const head = new RequestHead()
  const bytes = Buffer.from(text, 'latin1')
  const at = readRequestHead(bytes, 0, bytes.length, limits, head)
  assert.ok(at > 0, at === 0 ? 'needs more' : at < 0 ? rejectionOf(at).word : '')
  return head
}

describe('the request target', () => {
  for (const [line, form, scheme, path, query, host, port] of [
    ['GET / HTTP/1.1', 'origin', '', '/', '', 'example.com', 8080],
    ['GET /a/b?c=d?e HTTP/1.1', 'origin', '', '/a/b', '?c=d?e', 'example.com', 8080],
    ['GET /a? HTTP/1.1', 'origin', '', '/a', '?', 'example.com', 8080],
    ['GET //x/../y HTTP/1.1', 'origin', '', '//x/../y', '', 'example.com', 8080],
    ['GET /a|"<>^{}` HTTP/1.1', 'origin', '', '/a|"<>^{}`', '', 'example.com', 8080],
    ['OPTIONS * HTTP/1.1', 'asterisk', '', '*', '', 'example.com', 8080],
    ['GET http://example.COM:8080 HTTP/1.1', 'absolute', 'http', '/', '', 'example.com', 8080],
    [
      'GET HTTPS://example.com:8080/a?b HTTP/1.1',
      'absolute',
      'https',
      '/a',
      '?b',
      'example.com',
      8080,
    ],
    ['GET http://example.com:8080?b HTTP/1.1', 'absolute', 'http', '/', '?b', 'example.com', 8080],
    ['OPTIONS http://example.com:8080 HTTP/1.1', 'asterisk', 'http', '*', '', 'example.com', 8080],
    ['CONNECT example.com:8080 HTTP/1.1', 'authority', '', '', '', 'example.com', 8080],
  ] as const) {
    it(`${line}: ${form} ${path}${query}`, () => {
      const head = read(`${line}\r\nHost: Example.com:8080\r\n\r\n`)
      assert.deepEqual(
        [head.form, head.scheme, head.path, head.query, head.host, head.port],
        [form, scheme, path, query, host, port],
      )
    })
  }
  it('in absolute form names the host in HTTP/1.0 without Host', () => {
    assert.equal(read('GET http://a/ HTTP/1.0\r\n\r\n').host, 'a')
    assert.equal(read('GET / HTTP/1.0\r\n\r\n').host, '')
  })
})

describe('the version and keep-alive', () => {
  for (const [version, connection, keepAlive] of [
    ['1.1', undefined, true],
    ['1.1', 'close', false],
    ['1.1', 'keep-alive, Close', false],
    ['1.1', 'x-y', true],
    ['1.0', undefined, false],
    ['1.0', 'Keep-Alive', true],
    ['1.0', 'keep-alive, close', false],
    ['1.0', 'x-y', false],
  ] as const) {
    it(`HTTP/${version}, Connection ${connection ?? 'absent'}: ${keepAlive ? 'goes on' : 'ends'}`, () => {
      const line = connection === undefined ? '' : `Connection: ${connection}\r\n`
      assert.equal(read(`GET / HTTP/${version}\r\nHost: a\r\n${line}\r\n`).keepAlive, keepAlive)
    })
  }
})

describe('request framing', () => {
  for (const [line, framing, length, expects] of [
    ['X: y', 'none', -1, false],
    ['Content-Length: 0', 'none', 0, false],
    ['Content-Length:   0042\t', 'length', 42, false],
    ['Content-Length: 9007199254740991', 'length', Number.MAX_SAFE_INTEGER, false],
    ['Transfer-Encoding: Chunked', 'chunked', -1, false],
    ['Content-Length: 3\r\nExpect: 100-Continue', 'length', 3, true],
    ['Expect: 100-continue', 'none', -1, false],
  ] as const) {
    it(`${JSON.stringify(line)}: ${framing} ${length}`, () => {
      const head = read(`POST / HTTP/1.1\r\nHost: a\r\n${line}\r\n\r\n`)
      assert.deepEqual([head.framing, head.length, head.expectContinue], [framing, length, expects])
    })
  }
})

describe('fields', () => {
  const head = read(
    [
      'GET / HTTP/1.1',
      'Host: a',
      'X-One:1',
      'x-two: \t 2 words \t ',
      'X-ONE: again',
      'Cookie: a=b',
      'cookie: c=d',
      'x_one: other',
      'Connection: X-Secret, upgrade',
      'x-secret: shown to nobody',
      'Upgrade: WebSocket',
      'TE: gzip, trailers;q=1',
      'Empty:',
      '',
      '',
    ].join('\r\n'),
  )
  const { fields } = head

  it('keep their names and order, without the whitespace around values', () => {
    assert.equal(fields.count, 12)
    assert.deepEqual([fieldName(fields, 1), fieldValue(fields, 1)], ['X-One', '1'])
    assert.deepEqual([fieldName(fields, 2), fieldValue(fields, 2)], ['x-two', '2 words'])
    assert.deepEqual([fieldName(fields, 11), fieldValue(fields, 11)], ['Empty', ''])
  })
  it('are found in any case, and several are joined', () => {
    assert.equal(joinedValue(fields, 'x-one'), '1, again')
    assert.equal(joinedValue(fields, 'cookie'), 'a=b; c=d')
    assert.equal(joinedValue(fields, 'x_one'), 'other')
    assert.equal(joinedValue(fields, 'nothing'), undefined)
    assert.equal(findField(fields, 'x-one', 2), 3)
  })
  it('named by Connection are not found', () => {
    assert.equal(findField(fields, 'x-secret'), -1)
    assert.deepEqual(head.options, ['x-secret'])
    assert.equal(head.upgrade, 'websocket')
  })
  it('recognize TE: trailers only without parameters', () => {
    assert.equal(head.takesTrailers, false)
    assert.equal(read('GET / HTTP/1.1\r\nHost: a\r\nTE: x,\tTrailers\r\n\r\n').takesTrailers, true)
  })
  it('keep bytes beyond ASCII as one character each', () => {
    const latin = read('GET / HTTP/1.1\r\nHost: a\r\nX: D\xfc\xff\r\n\r\n')
    assert.equal(joinedValue(latin.fields, 'x'), 'D\xfc\xff')
  })
  it('may exceed the initial table size', () => {
    const lines = Array.from({ length: 99 }, (_, i) => `x-${i}: ${i}\r\n`).join('')
    const { fields: many } = read(`GET / HTTP/1.1\r\nHost: a\r\n${lines}\r\n`)
    assert.equal(joinedValue(many, 'x-0'), '0')
    assert.equal(joinedValue(many, 'x-98'), '98')
  })
})

describe('limits of a head', () => {
  const limits = { head: 64, target: 10, fields: 2 }
  const verdict = (text: string): string | number => {
    const bytes = Buffer.from(text, 'latin1')
    const at = readRequestHead(bytes, 0, bytes.length, limits, new RequestHead())
    return at < 0 ? rejectionOf(at).word : at
  }
  const padded = (length: number) => {
    const text = 'GET / HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n'
    return text.replace('X: ', `X: ${'x'.repeat(length - text.length)}`)
  }
  for (const [name, text, expected] of [
    ['as long as it may be', padded(64), 64],
    ['one byte longer', padded(65), 'head-too-large'],
    ['not whole, but long enough to know', padded(80).slice(0, 64), 'head-too-large'],
    ['a target as long as it may be', 'GET /123456789 HTTP/1.1\r\nHost: a\r\n\r\n', 36],
    ['a target one byte longer', 'GET /123456789a HTTP/1.1\r\n', 'target-too-long'],
    ['a long target that has no end yet', 'GET /123456789a', 'target-too-long'],
    ['a third field', 'GET / HTTP/1.1\r\nHost: a\r\nb: c\r\nd', 'too-many-headers'],
    ['a long method', `${'A'.repeat(33)}`, 'bad-method'],
    [
      'a faulty byte behind the limit is not looked at',
      `${padded(80)}`.replace(/x{9}\r/, '\0$&'),
      'head-too-large',
    ],
  ] as const) {
    it(`${name}: ${expected}`, () => assert.equal(verdict(text), expected))
  }
})

describe('a head in pieces', () => {
  const text =
    'GET /a?b HTTP/1.1\r\nHost: example.com\r\nContent-Length: 3\r\nX-Long: ' +
    `${'0123456789\t'.repeat(20)}\r\nConnection: x-a\r\nX-A: 1\r\n\r\nabc`

  const meaning = ({ line: _, inFields: __, fields, ...rest }: RequestHead) => {
    const { count, text: all } = fields
    const listed = Array.from({ length: count }, (_, i) => [
      fieldName(fields, i),
      fieldValue(fields, i),
    ])
    return { ...rest, all, listed, kinds: fields.kinds.slice(0, count) }
  }

  it('is the same when split in two anywhere', () => {
    const whole = read(text)
    for (let cut = 0; cut <= text.length - 3; cut++) {
      const head = new RequestHead()
      const first = Buffer.from(text.slice(0, cut), 'latin1')
      const at = readRequestHead(first, 0, first.length, HEAD_LIMITS, head)
      if (at === 0) {
        const bytes = Buffer.from(`..${text}`, 'latin1')
        assert.equal(readRequestHead(bytes, 2, bytes.length, HEAD_LIMITS, head), text.length - 1)
      } else assert.equal(at, text.length - 3)
      assert.deepEqual(meaning(head), meaning(whole))
    }
  })

  it('is the same byte by byte, without reading a byte twice', () => {
    const head = new RequestHead()
    const end = text.length - 3
    for (let to = 1; to < end; to++) {
      // Overwrites the bytes already read, except those that the version or a short value may need.
      const spoilt = Math.max(0, to - 20)
      const seen = '\0'.repeat(spoilt) + text.slice(spoilt, to)
      assert.equal(readRequestHead(Buffer.from(seen, 'latin1'), 0, to, HEAD_LIMITS, head), 0)
    }
    const bytes = Buffer.from(text, 'latin1')
    assert.equal(readRequestHead(bytes, 0, bytes.length, HEAD_LIMITS, head), end)
    assert.equal(head.host, 'example.com')
    assert.equal(head.length, 3)
    assert.equal(findField(head.fields, 'x-a'), -1)
  })

  it('may be as long as the limit, wherever it is in the buffer', () => {
    const limits = { ...HEAD_LIMITS, head: 100 }
    const whole = `GET / HTTP/1.1\r\nHost: a\r\nx: ${'y'.repeat(68)}\r\n\r\n`
    assert.equal(whole.length, 100)
    for (const start of [0, 1, 99, 5_000]) {
      const bytes = Buffer.from(' '.repeat(start) + whole.replace('\r\n\r\n', 'yy\r\n\r\n'))
      const read = (length: number) =>
        readRequestHead(bytes, start, start + length, limits, new RequestHead())
      assert.equal(read(99), 0)
      for (const length of [100, 102])
        assert.equal(rejectionOf(read(length)).word, 'head-too-large')
      const fit = Buffer.from(' '.repeat(start) + whole)
      const end: number = start + whole.length
      assert.equal(readRequestHead(fit, start, end, limits, new RequestHead()), end)
    }
  })

  it('can be reused after a rejection', () => {
    const head = new RequestHead()
    const bad = Buffer.from('GET / HTTP/1.1\r\nHost: a\r\nbad line\r\n', 'latin1')
    const good = Buffer.from('PUT /x HTTP/1.0\r\n\r\n', 'latin1')
    assert.ok(readRequestHead(bad, 0, bad.length, HEAD_LIMITS, head) < 0)
    assert.equal(readRequestHead(good, 0, good.length, HEAD_LIMITS, head), good.length)
    assert.deepEqual([head.method, head.host, head.fields.count], ['PUT', '', 0])
  })

  for (const [version, upgrade, expected] of [
    ['1.1', 'WebSocket', 'websocket'],
    ['1.1', 'websocket, x/1', 'websocket, x/1'],
    ['1.0', 'websocket', ''],
    ['1.1', 'h2c', ''],
    ['1.1', 'H2C, websocket', 'websocket'],
    ['1.1', 'h2, h2c/1, HTTP/2.0, http, TLS/1.3, h3', ''],
    ['1.1', 'h2c-14, h2-17, H3-29/1', ''],
    ['1.1', 'h2cat', 'h2cat'],
    ['1.1', 'websocket h2c', ''],
    ['1.1', 'a/b/c, , "x"', ''],
  ] as const) {
    it(`HTTP/${version} may go over to ${expected || 'nothing'}: ${upgrade}`, () => {
      const lines = ['Host: a', 'Connection: upgrade', `Upgrade: ${upgrade}`]
      assert.equal(read(`GET / HTTP/${version}\r\n${lines.join('\r\n')}\r\n\r\n`).upgrade, expected)
    })
  }
})
