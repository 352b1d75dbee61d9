import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fieldBlock } from '../../../test/proxy/http2-gateway.ts'
import { RequestHead } from '../http1/head.ts'
import { HEAD_LIMITS } from '../http1/message.ts'
import { rejectionOf } from '../http1/rejections.ts'
import { FieldBlock } from './field-block.ts'
import { HpackDecoder } from './hpack-decoder.ts'
import { readHttp2Request } from './request-head.ts'

const DUPLICATE = 'duplicate-content-length'
const BASE = [':method', 'GET', ':scheme', 'https', ':authority', 'x', ':path', '/a?b']

function read(raw: readonly string[], endsStream = true): RequestHead | string {
  const head = new RequestHead()
  const pairs = raw.flatMap((name, i) =>
    i % 2 === 0 ? [[name, raw[i + 1] as string] as const] : [],
  )
  const bytes = fieldBlock(pairs)
  const block = new FieldBlock()
  assert.ok(new HpackDecoder(1_000_000).read(bytes, 0, bytes.length, block))
  const verdict = readHttp2Request(block, endsStream, HEAD_LIMITS, head)
  return verdict > 0 ? head : rejectionOf(verdict).word
}

describe('accepted requests', () => {
  for (const [name, raw, endsStream, text, framing] of [
    ['a request', BASE, true, 'GET /a?b HTTP/1.1\r\nhost: x\r\n\r\n', 'none'],
    [
      'cookies become one',
      [...BASE, 'cookie', 'a=1', 'x-a', '1', 'cookie', 'b=2'],
      true,
      'GET /a?b HTTP/1.1\r\nhost: x\r\nx-a: 1\r\ncookie: a=1; b=2\r\n\r\n',
      'none',
    ],
    [
      'a host that agrees',
      [...BASE, 'host', 'X'],
      true,
      'GET /a?b HTTP/1.1\r\nhost: x\r\n\r\n',
      'none',
    ],
    [
      'a host instead of the authority',
      [...BASE.slice(0, 4), ':path', '/', 'host', 'y'],
      true,
      'GET / HTTP/1.1\r\nhost: y\r\n\r\n',
      'none',
    ],
    [
      'a body without a length',
      BASE,
      false,
      'GET /a?b HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n',
      'chunked',
    ],
    [
      'a body with a length',
      [...BASE, 'content-length', '5'],
      false,
      'GET /a?b HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\n',
      'length',
    ],
    [
      'bytes beyond ASCII',
      [...BASE, 'x-a', '\xe4'],
      true,
      'GET /a?b HTTP/1.1\r\nhost: x\r\nx-a: \xe4\r\n\r\n',
      'none',
    ],
  ] as const) {
    it(name, () => {
      const head = read(raw, endsStream)
      assert.ok(head instanceof RequestHead, String(head))
      assert.equal(head.fields.text, text)
      assert.equal(head.framing, framing)
    })
  }
})

describe('rejected requests', () => {
  const target = (path: string) => [...BASE.slice(0, 6), ':path', path]
  for (const [name, raw, word] of [
    ['CRLF in a value', [...BASE, 'x-a', 'b\r\nx-evil: 1'], 'bare-lf'],
    ['CR in a value', [...BASE, 'x-a', 'b\rc'], 'bare-cr'],
    ['NUL in a value', [...BASE, 'x-a', 'b\0'], 'nul'],
    ['a control in a value', [...BASE, 'x-a', '\x01'], 'bad-header-value'],
    ['CRLF in a name', [...BASE, 'a\r\nb', '1'], 'bad-header-name'],
    ['a colon in a name', [...BASE, 'a:b', '1'], 'bad-header-name'],
    ['an empty name', [...BASE, '', '1'], 'bad-header-name'],
    ['upper case', [...BASE, 'X-A', '1'], 'bad-header-name'],
    ['an unknown pseudo-header', [':evil', 'x', ...BASE], 'bad-header-name'],
    ['a protocol without CONNECT', [':protocol', 'websocket', ...BASE], 'bad-target'],
    ['a repeated pseudo-header', [...BASE, ':path', '/'], 'bad-header-name'],
    ['a late pseudo-header', ['x-a', '1', ...BASE], 'bad-header-name'],
    ['CRLF in the path', target('/ HTTP/1.1\r\nx: y'), 'bare-lf'],
    ['a space in the path', target('/a b'), 'bad-target'],
    ['a fragment', target('/a#b'), 'bad-target'],
    ['the absolute form', target('http://x/'), 'bad-target'],
    ['an asterisk without OPTIONS', target('*'), 'bad-target'],
    ['an empty path', target(''), 'bad-target'],
    ['no path', BASE.slice(0, 6), 'bad-target'],
    ['no scheme', [...BASE.slice(0, 2), ...BASE.slice(4)], 'bad-target'],
    ['another scheme', [':method', 'GET', ':scheme', 'ftp', ...BASE.slice(4)], 'bad-target'],
    ['no method', BASE.slice(2), 'bad-method'],
    ['a space in the method', [':method', 'GET /', ...BASE.slice(2)], 'bad-method'],
    ['lower case in the method', [':method', 'get', ...BASE.slice(2)], 'bad-method'],
    ['CONNECT with a path', [':method', 'CONNECT', ...BASE.slice(2)], 'bad-target'],
    ['no host', [...BASE.slice(0, 4), ':path', '/'], 'missing-host'],
    ['another host', [...BASE, 'host', 'y'], 'host-mismatch'],
    ['the host with a port', [...BASE, 'host', 'x:443'], 'host-mismatch'],
    ['two hosts', [...BASE, 'host', 'x', 'host', 'x'], 'duplicate-host'],
    ['an empty authority', [':authority', '', ...BASE.slice(0, 4), ':path', '/'], 'bad-host'],
    ['connection', [...BASE, 'connection', 'close'], 'bad-connection'],
    ['transfer-encoding', [...BASE, 'transfer-encoding', 'chunked'], 'bad-connection'],
    ['te', [...BASE, 'te', 'gzip'], 'bad-connection'],
    ['a length and no body', [...BASE, 'content-length', '1'], 'truncated-body'],
    ['two lengths', [...BASE, 'content-length', '0', 'content-length', '0'], DUPLICATE],
    ['many fields', [...BASE, ...Array(202).fill('x')], 'too-many-headers'],
    ['a long head', [...BASE, 'x', 'y'.repeat(40_000)], 'head-too-large'],
  ] as const) {
    it(`${name}: ${word}`, () => assert.equal(read(raw), word))
  }

  it('every accepted request has exactly the fields sent', () => {
    const piece = fc.string({ unit: fc.constantFrom('a', ':', '\r', '\n', ' ', '\0', '-', '\xff') })
    const pair = fc.tuple(fc.oneof(piece, fc.constant('x-a')), piece)
    fc.assert(
      fc.property(fc.array(pair, { maxLength: 5 }), (pairs) => {
        const head = read([...BASE, ...pairs.flat()])
        if (typeof head === 'string') return
        assert.equal(head.fields.count, pairs.length + 1)
        assert.equal(head.fields.text.match(/\r\n/g)?.length, pairs.length + 3)
      }),
    )
  })
})
