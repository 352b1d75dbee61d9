import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BodyReader, beginBody, endBody, readBody, trailersOf } from './body.ts'
import { BODY_LIMITS, chunkHead, LAST_CHUNK, renderTrailers, writeChunk } from './chunked.ts'
import { findField, joinedValue } from './fields.ts'
import type { Framing } from './message.ts'
import { rejectionOf } from './rejections.ts'

interface Outcome {
  readonly verdict: string
  readonly ranges: readonly string[]
  readonly left: string
}

const body = new BodyReader()

function read(framing: Framing, text: string, { length = -1, asWire = false } = {}): Outcome {
  beginBody(body, framing, length, asWire)
  const bytes = Buffer.from(text, 'latin1')
  const ranges: string[] = []
  let at = 0
  while (at < bytes.length && !body.isDone) {
    at = readBody(body, bytes, at, bytes.length)
    if (at < 0) return { verdict: rejectionOf(at).word, ranges, left: '' }
    if (body.to > body.from) ranges.push(bytes.toString('latin1', body.from, body.to))
  }
  return { verdict: body.isDone ? 'done' : 'more', ranges, left: bytes.toString('latin1', at) }
}

describe('a chunked body', () => {
  for (const [name, text, verdict, ranges, left] of [
    ['no data', '0\r\n\r\n', 'done', [], ''],
    ['two chunks', '3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nGET', 'done', ['abc', 'de'], 'GET'],
    [
      'sizes in any case, zeros in front',
      '00a\r\n0123456789\r\nA\r\n0123456789\r\n000\r\n\r\n',
      'done',
      ['0123456789', '0123456789'],
      '',
    ],
    ['line ends as data', '4\r\n\r\n\r\n\r\n0\r\n\r\n', 'done', ['\r\n\r\n'], ''],
    ['extensions', '1;a;b=c;d="e;f"\r\nx\r\n0;z\r\n\r\n', 'done', ['x'], ''],
    ['data that is not all there', '5\r\nabc', 'more', ['abc'], ''],
    ['a last chunk without its end', '0\r\n', 'more', [], ''],
    ['a large size', '1fffffffffffff\r\nab', 'more', ['ab'], ''],
    ['2^53', '20000000000000\r\n', 'chunk-too-large', [], ''],
    ['2^64 + 2', '10000000000000002\r\nab\r\n', 'chunk-too-large', [], ''],
    ['zeros without end', '00000000000000001\r\n', 'chunk-too-large', [], ''],
    ['no size', '\r\n', 'bad-chunk-size', [], ''],
    ['no size but an extension', ';a\r\n', 'bad-chunk-size', [], ''],
    ['a sign', '+1\r\na\r\n', 'bad-chunk-size', [], ''],
    ['a negative size', '-1\r\n', 'bad-chunk-size', [], ''],
    ['0x', '0x1\r\na\r\n', 'bad-chunk-size', [], ''],
    ['an underscore', '1_0\r\n', 'bad-chunk-size', [], ''],
    ['a space before the size', ' 1\r\na\r\n', 'bad-chunk-size', [], ''],
    ['a space behind the size', '1 \r\na\r\n', 'bad-chunk-size', [], ''],
    ['a space before the extension', '1 ;a\r\na\r\n', 'bad-chunk-size', [], ''],
    ['a bare LF behind the size', '1\na\r\n', 'bare-lf', [], ''],
    ['a bare CR behind the size', '1\ra\r\n', 'bare-cr', [], ''],
    ['a bare LF in an extension', '1;a\nb\r\nx\r\n', 'bare-lf', [], ''],
    ['a bare CR in an extension', '1;a\rb\r\nx\r\n', 'bare-cr', [], ''],
    ['NUL in an extension', '1;\0\r\nx\r\n', 'nul', [], ''],
    ['a control in an extension', '1;\x01\r\nx\r\n', 'bad-chunk-extension', [], ''],
    [
      'a long extension',
      `1;${'x'.repeat(BODY_LIMITS.extensions + 1)}`,
      'chunk-extensions-too-large',
      [],
      '',
    ],
    [
      'many extensions',
      `1;${'x'.repeat(99)}\r\na\r\n`.repeat(42),
      'chunk-extensions-too-large',
      Array(41).fill('a'),
      '',
    ],
    ['more data than its size', '1\r\nab\r\n', 'bad-chunk-end', ['a'], ''],
    ['a bare LF behind the data', '1\r\na\n0\r\n\r\n', 'bare-lf', ['a'], ''],
    ['a bare CR behind the data', '1\r\na\r0\r\n\r\n', 'bare-cr', ['a'], ''],
    ['no line end behind the data', '1\r\na0\r\n\r\n', 'bad-chunk-end', ['a'], ''],
    ['a bare LF at the end', '0\r\n\n', 'bare-lf', [], ''],
    ['a bare CR at the end', '0\r\n\rx', 'bare-cr', [], ''],
    ['a folded trailer', '0\r\nA: b\r\n c\r\n\r\n', 'obs-fold', [], ''],
    ['a trailer with space before its colon', '0\r\nA : b\r\n\r\n', 'space-before-colon', [], ''],
    ['many trailers', `0\r\n${'a: b\r\n'.repeat(33)}`, 'too-many-headers', [], ''],
    ['long trailers', `0\r\na: ${'b'.repeat(BODY_LIMITS.trailers)}`, 'trailers-too-large', [], ''],
    [
      'a request for trailers',
      '0\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n',
      'space-before-colon',
      [],
      '',
    ],
  ] as const) {
    it(`${name}: ${verdict}`, () => {
      const outcome = read('chunked', text)
      assert.equal(outcome.verdict, verdict)
      assert.deepEqual(outcome.ranges, ranges)
      assert.equal(outcome.left, left)
    })
  }
})

describe('trailers', () => {
  const text =
    '1\r\na\r\n0\r\nX-Sum: 1\r\nContent-Length: 9\r\nAuthorization: x\r\ngrpc-status: 0\r\n\r\nnext'
  it('are ordinary fields, except for those not allowed there', () => {
    assert.deepEqual(read('chunked', text), { verdict: 'done', ranges: ['a'], left: 'next' })
    const trailers = trailersOf(body)
    assert.ok(trailers !== undefined)
    assert.equal(joinedValue(trailers, 'x-sum'), '1')
    assert.equal(findField(trailers, 'content-length'), -1)
    assert.equal(findField(trailers, 'authorization'), -1)
    assert.equal(renderTrailers(trailers), 'X-Sum: 1\r\ngrpc-status: 0\r\n\r\n')
  })
  it('are not kept for the next body', () => {
    read('chunked', text)
    read('chunked', '0\r\n\r\n')
    assert.equal(trailersOf(body), undefined)
    read('length', 'a', { length: 1 })
    assert.equal(trailersOf(body), undefined)
  })
})

describe('a chunked body that is forwarded as it is', () => {
  for (const [name, text, ranges] of [
    [
      'many chunks are one piece',
      '1\r\na\r\n2\r\nbc\r\n0\r\n\r\nGET',
      ['1\r\na\r\n2\r\nbc\r\n0\r\n\r\n'],
    ],
    ['extensions are dropped', '1;x=y\r\na\r\n0;z\r\n\r\n', ['1', '\r\na\r\n0', '\r\n\r\n']],
    ['trailers are left to be written', '1\r\na\r\n0\r\nX: y\r\n\r\n', ['1\r\na\r\n0\r\n']],
  ] as const) {
    it(name, () => assert.deepEqual(read('chunked', text, { asWire: true }).ranges, ranges))
  }
})

describe('other bodies', () => {
  for (const [framing, length, text, verdict, ranges, left, whole] of [
    ['none', -1, 'GET', 'done', [], 'GET', true],
    ['length', 3, 'abcGET', 'done', ['abc'], 'GET', true],
    ['length', 5, 'abc', 'more', ['abc'], '', false],
    ['close', -1, 'abc', 'more', ['abc'], '', true],
    ['chunked', -1, '3\r\nabc\r\n', 'more', ['abc'], '', false],
  ] as const) {
    it(`${framing} ${length}, ${JSON.stringify(text)}: ${verdict}`, () => {
      assert.deepEqual(read(framing, text, { length }), { verdict, ranges, left })
      const ended = endBody(body)
      assert.equal(
        ended > 0 ? 'whole' : rejectionOf(ended).word,
        whole ? 'whole' : 'truncated-body',
      )
    })
  }
})

describe('chunks that the gateway writes', () => {
  it('are read back', () => {
    const data = Buffer.from('some data to be sent', 'latin1')
    const out = Buffer.alloc(64)
    let at = writeChunk(out, 0, data, 0, 4)
    at = writeChunk(out, at, data, 4, 20)
    at += out.write(LAST_CHUNK, at, 'latin1')
    const text = out.toString('latin1', 0, at)
    assert.equal(text, '4\r\nsome\r\n10\r\n data to be sent\r\n0\r\n\r\n')
    assert.deepEqual(read('chunked', text).ranges, ['some', ' data to be sent'])
  })
  it('need room, and are never empty', () => {
    const data = Buffer.alloc(10)
    assert.equal(writeChunk(Buffer.alloc(14), 0, data, 0, 10), 0)
    assert.equal(writeChunk(Buffer.alloc(15), 0, data, 0, 10), 15)
    assert.throws(() => chunkHead(0), RangeError)
    assert.throws(() => chunkHead(1.5), RangeError)
  })
})
