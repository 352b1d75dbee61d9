import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fieldBlock } from '../../../test/proxy/http2-gateway.ts'
import { renderTrailers } from '../http1/chunked.ts'
import { HEAD_LIMITS } from '../http1/message.ts'
import { rejectionOf } from '../http1/rejections.ts'
import { ResponseHead } from '../http1/response-head.ts'
import { FieldBlock } from './field-block.ts'
import { HpackDecoder } from './hpack-decoder.ts'
import { readHttp2Response } from './response-block.ts'
import { readHttp2Trailers } from './trailers.ts'

function blockOf(raw: readonly string[], max = 1_000_000): FieldBlock {
  const pairs = raw.flatMap((name, i) =>
    i % 2 === 0 ? [[name, raw[i + 1] as string] as const] : [],
  )
  const bytes = fieldBlock(pairs)
  const block = new FieldBlock()
  assert.ok(new HpackDecoder(max).read(bytes, 0, bytes.length, block))
  return block
}

describe('responses of an HTTP/2 upstream', () => {
  for (const [name, raw, expected] of [
    ['a length', [':status', '200', 'content-length', '5'], 'length'],
    ['no length', [':status', '200', 'x-a', '1'], 'close'],
    ['nothing but a status', [':status', '404'], 'close'],
    ['204', [':status', '204'], 'none'],
    ['no status', ['x-a', '1'], 'bad-status-line'],
    ['nothing', [], 'bad-status-line'],
    ['a status of two digits', [':status', '20'], 'bad-status-line'],
    ['a status of four digits', [':status', '2000'], 'bad-status-line'],
    ['a status with a letter', [':status', '2x0'], 'bad-status-line'],
    ['a status below 100', [':status', '099'], 'bad-status-line'],
    ['101', [':status', '101'], 'bad-status-line'],
    ['CRLF', [':status', '200', 'x', 'a\r\nb: c'], 'bare-lf'],
    ['a status with CRLF', [':status', '200\r\nx: y'], 'bare-lf'],
    ['a second status', [':status', '200', ':status', '200'], 'bad-header-name'],
    ['a status behind a field', ['x', 'y', ':status', '200'], 'bad-status-line'],
    ['a pseudo-header of requests', [':status', '200', ':path', '/'], 'bad-header-name'],
    ['a name in upper case', [':status', '200', 'X-A', '1'], 'bad-header-name'],
    ['connection', [':status', '200', 'connection', 'close'], 'bad-connection'],
    ['keep-alive', [':status', '200', 'keep-alive', 'timeout=5'], 'bad-connection'],
    ['proxy-connection', [':status', '200', 'proxy-connection', 'x'], 'bad-connection'],
    ['upgrade', [':status', '200', 'upgrade', 'h2c'], 'bad-connection'],
    ['transfer-encoding', [':status', '200', 'transfer-encoding', 'chunked'], 'bad-connection'],
    ['two lengths', [':status', '200', 'content-length', '1, 2'], 'duplicate-content-length'],
    ['too large', [':status', '200', 'x', 'y'.repeat(40_000)], 'head-too-large'],
  ] as const) {
    it(`${name}: ${expected}`, () => {
      const head = new ResponseHead()
      const verdict = readHttp2Response(blockOf(raw), 'GET', HEAD_LIMITS, head)
      assert.equal(verdict > 0 ? head.framing : rejectionOf(verdict).word, expected)
      if (verdict > 0) assert.equal(head.status, Number(raw[1]))
    })
  }

  it('dropped fields make it too large', () => {
    const block = blockOf([':status', '200', 'x', 'y'.repeat(500)], 200)
    const verdict = readHttp2Response(block, 'GET', HEAD_LIMITS, new ResponseHead())
    assert.equal(rejectionOf(verdict).word, 'head-too-large')
  })

  for (const [status, expected] of [
    ['200', 101],
    ['403', 403],
  ] as const) {
    it(`${status} to an extended CONNECT is ${expected} to HTTP/1.1`, () => {
      const head = new ResponseHead()
      const switching = 'connection: upgrade\r\nupgrade: websocket\r\n'
      const block = blockOf([':status', status, 'x-a', '1'])
      assert.equal(readHttp2Response(block, 'GET', HEAD_LIMITS, head, switching), 1)
      assert.equal(head.status, expected)
      assert.match(head.fields.text, /\r\nx-a: 1\r\n\r\n$/)
      assert.equal(head.upgrade, expected === 101 ? 'websocket' : '')
    })
  }
})

describe('trailers', () => {
  it('are read as in HTTP/1.1, except for those not allowed there', () => {
    const trailers = readHttp2Trailers(
      blockOf(['grpc-status', '0', 'content-length', '5', 'x', 'y']),
    )
    assert.ok(typeof trailers === 'object')
    assert.equal(renderTrailers(trailers), 'grpc-status: 0\r\nx: y\r\n\r\n')
  })

  for (const [name, raw, word] of [
    ['CRLF', ['x', 'a\r\nb: c'], 'bare-lf'],
    ['a pseudo-header', [':status', '200'], 'bad-header-name'],
    ['too many', Array(80).fill('x'), 'too-many-headers'],
    ['too large', ['x', 'y'.repeat(9_000)], 'trailers-too-large'],
  ] as const) {
    it(`${name}: ${word}`, () => {
      const verdict = readHttp2Trailers(blockOf(raw))
      assert.equal(typeof verdict === 'number' ? rejectionOf(verdict).word : '', word)
    })
  }
})
