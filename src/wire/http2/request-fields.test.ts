import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FieldBlock } from './field-block.ts'
import { HpackDecoder } from './hpack-decoder.ts'
import { HpackEncoder } from './hpack-encoder.ts'
import { encodeConnect, encodeRequest, readOutgoingHead } from './request-fields.ts'

const decoder = () => new HpackDecoder(1_000_000)

function linesOf(encoder: HpackEncoder, read = decoder()): readonly string[] {
  const block = new FieldBlock()
  assert.ok(read.read(encoder.bytes, 0, encoder.length, block))
  return block.bytes.toString('latin1', 0, block.length).split('\r\n').slice(0, -1)
}

describe('requests to an HTTP/2 upstream', () => {
  for (const [name, text, lines, isChunked, upgrade] of [
    [
      'a request',
      'GET /a?b HTTP/1.1\r\nHost: x\r\nX-A:  1 \r\n\r\n',
      [':method: GET', ':scheme: http', ':path: /a?b', ':authority: x', 'x-a: 1'],
      false,
      '',
    ],
    [
      'trailers and chunks',
      'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\nconnection: te\r\nte: trailers\r\n\r\n',
      [':method: POST', ':scheme: http', ':path: /', ':authority: x', 'te: trailers'],
      true,
      '',
    ],
    [
      'an upgrade',
      'PUT / HTTP/1.1\r\nhost: x\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\n\r\n',
      [':method: PUT', ':scheme: http', ':path: /', ':authority: x'],
      false,
      'websocket',
    ],
    [
      'no host',
      'OPTIONS * HTTP/1.1\r\nhost: \r\n\r\n',
      [':method: OPTIONS', ':scheme: http', ':path: *', ':authority: backend'],
      false,
      '',
    ],
  ] as const) {
    it(name, () => {
      const head = readOutgoingHead(text)
      const encoder = new HpackEncoder()
      const method = text.slice(0, text.indexOf(' '))
      encodeRequest(encoder, method, 'http', head.authority || 'backend', head)
      assert.deepEqual(linesOf(encoder), lines)
      assert.deepEqual([head.isChunked, head.upgrade], [isChunked, upgrade])
    })
  }

  it('a handshake is sent without its key, and the gateway computes the accept value', () => {
    const head = readOutgoingHead(
      'GET /w HTTP/1.1\r\nhost: x\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nx-a: 1\r\n\r\n',
    )
    const encoder = new HpackEncoder()
    // The example of RFC 6455 §1.3.
    assert.match(encodeConnect(encoder, 'https', 'x', head), /: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\n$/)
    assert.deepEqual(linesOf(encoder), [
      ':method: CONNECT',
      ':scheme: https',
      ':path: /w',
      ':protocol: websocket',
      ':authority: x',
      'x-a: 1',
    ])
  })

  it('a repeated path is indexed, one with a query never', () => {
    const encoder = new HpackEncoder()
    const read = decoder()
    const lengths = (path: string) =>
      [1, 2, 3].map(() => {
        const head = readOutgoingHead(`POST ${path} HTTP/1.1\r\nhost: x\r\n\r\n`)
        encodeRequest(encoder, 'POST', 'http', 'x', head)
        assert.ok(linesOf(encoder, read).includes(`:path: ${path}`))
        return encoder.length
      })
    const [, , third] = lengths('/echo.Echo/Say')
    assert.equal(third, 4)
    const [first = 0, , last = 0] = lengths('/echo?token=secret')
    assert.equal(last, first)
    assert.ok(last > 12)
  })

  for (const name of ['authorization', 'cookie', 'x-api-key', 'api-key', 'x-goog-api-key']) {
    it(`${name} is in no table, and says so to whoever sends it on`, () => {
      const encoder = new HpackEncoder()
      encoder.begin()
      encoder.line(`${name}: secret`)
      const { length } = encoder
      // RFC 7541 §6.2.3
      assert.equal((encoder.bytes[0] as number) >> 4, 1)
      encoder.begin()
      encoder.line(`${name}: secret`)
      assert.equal(encoder.length, length)
    })
  }
})
