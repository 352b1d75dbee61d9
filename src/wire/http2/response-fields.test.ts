import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type FieldLines, fieldLine, NO_LINES, NO_NAMES, nameSet } from '../http1/field-lines.ts'
import { HEAD_LIMITS } from '../http1/message.ts'
import { ResponseHead, readResponseHead } from '../http1/response-head.ts'
import { FieldBlock } from './field-block.ts'
import { HpackDecoder } from './hpack-decoder.ts'
import { HpackEncoder } from './hpack-encoder.ts'
import { encodeReply, encodeResponse } from './response-fields.ts'

function responseOf(text: string, method = 'GET'): ResponseHead {
  const head = new ResponseHead()
  const bytes = Buffer.from(text, 'latin1')
  assert.equal(readResponseHead(bytes, 0, bytes.length, HEAD_LIMITS, method, head), bytes.length)
  return head
}

function decoded(decoder: HpackDecoder, encoder: HpackEncoder): readonly string[] {
  const block = new FieldBlock()
  assert.ok(decoder.read(encoder.bytes, 0, encoder.length, block))
  return block.bytes.toString('latin1', 0, block.length).split('\r\n').slice(0, -1)
}

/** The lines that a client decodes, twice: the second time, most come from the table. */
function linesOf(encode: (encoder: HpackEncoder) => void): readonly string[] {
  const encoder = new HpackEncoder()
  const decoder = new HpackDecoder(100_000)
  const [first, second] = [1, 2].map(() => {
    encode(encoder)
    return decoded(decoder, encoder)
  })
  // A second may pass between them.
  assert.deepEqual(withoutDate(first), withoutDate(second))
  return first as readonly string[]
}

function withoutDate(lines: readonly string[] = []): readonly string[] {
  return lines.filter((line) => !line.startsWith('date:'))
}

describe('responses to an HTTP/2 client', () => {
  for (const [name, text, expected] of [
    [
      'names in lower case, nothing of the connection',
      'HTTP/1.1 200 OK\r\nX-A: 1\r\nConnection: x-hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nContent-Length: 3\r\n\r\n',
      [':status: 200', 'x-a: 1', 'content-length: 3'],
    ],
    [
      'repeated fields stay apart',
      'HTTP/1.1 200 OK\r\nset-cookie: a\r\nset-cookie: b\r\ntransfer-encoding: chunked\r\n\r\n',
      [':status: 200', 'set-cookie: a', 'set-cookie: b'],
    ],
    ['204 has no length', 'HTTP/1.1 204 No\r\nx-a: 1\r\n\r\n', [':status: 204', 'x-a: 1']],
    ['205 has none either', 'HTTP/1.1 205 R\r\ncontent-length: 3\r\n\r\n', [':status: 205']],
    [
      'spaces around values are none of them',
      'HTTP/1.1 403 No\r\nX-A:1\r\nX-B: \t 2 \r\nX-C:\r\nContent-Length: 0\r\n\r\n',
      [':status: 403', 'x-a: 1', 'x-b: 2', 'x-c: ', 'content-length: 0'],
    ],
    [
      'trailers are announced where they can come',
      'HTTP/1.1 200 OK\r\ntrailer: x\r\ntransfer-encoding: chunked\r\n\r\n',
      [':status: 200', 'trailer: x'],
    ],
  ] as const) {
    it(name, () => {
      const head = responseOf(text)
      const lines = linesOf((encoder) => encodeResponse(encoder, head, NO_NAMES, NO_LINES))
      assert.deepEqual(withoutDate(lines), expected)
    })
  }

  it('apply removed and added fields', () => {
    const head = responseOf('HTTP/1.1 200 OK\r\nServer: x\r\ncontent-length: 0\r\n\r\n')
    const added = fieldLine('X-Added', 'a:b ') as FieldLines
    const dropped = nameSet(['server'])
    const lines = linesOf((encoder) => encodeResponse(encoder, head, dropped, added))
    assert.deepEqual(withoutDate(lines), [':status: 200', 'content-length: 0', 'x-added: a:b'])
  })

  it('have a date, once', () => {
    const head = responseOf('HTTP/1.1 200 OK\r\n\r\n')
    const lines = linesOf((encoder) => encodeResponse(encoder, head, NO_NAMES, NO_LINES))
    assert.equal(lines.filter((line) => line.startsWith('date: ')).length, 1)
    const reply = linesOf((encoder) => encodeReply(encoder, 403, NO_LINES, 2))
    assert.deepEqual(withoutDate(reply), [':status: 403', 'content-length: 2'])
    assert.equal(reply.length, 3)
  })

  it('are encoded consistently on one connection, in any sequence', () => {
    const texts = ['a', 'b'].flatMap((value) =>
      ['200 OK', '404 No'].flatMap((status) =>
        ['content-length: 2', 'content-length: 3', 'trailer: x\r\ntransfer-encoding: chunked'].map(
          (framing) =>
            `HTTP/1.1 ${status}\r\nDate: now\r\nX-V: ${value}\r\nServer: s\r\n${framing}\r\n\r\n`,
        ),
      ),
    )
    const names = [NO_NAMES, nameSet(['server'])]
    const added = [NO_LINES, fieldLine('X-Added', 'a') as FieldLines]
    const step = fc.record({
      text: fc.constantFrom(...texts),
      dropped: fc.constantFrom(...names),
      lines: fc.constantFrom(...added),
      method: fc.constantFrom('GET', 'HEAD'),
      /** A change of the table in between. */
      other: fc.constantFrom('none', 'none', 'none', 'field', 'limit'),
    })
    // Each one several times in a row, so that blocks can be repeated.
    const runs = fc.array(fc.tuple(step, fc.integer({ min: 1, max: 4 })), { maxLength: 20 })
    fc.assert(
      fc.property(runs, (drawn) => {
        const all = drawn.flatMap(([one, times]) => [
          ...Array.from({ length: times }, () => ({ ...one, other: 'none' })),
          one,
        ])
        const encoder = new HpackEncoder()
        const decoder = new HpackDecoder(100_000)
        let isSmall = false
        all.forEach(({ text, dropped, lines, method, other }, at) => {
          if (other === 'limit') {
            isSmall = !isSmall
            encoder.limitTable(isSmall ? 64 : 4_096)
          }
          const head = responseOf(text, method)
          const encode = (own: HpackEncoder) => {
            encodeResponse(own, head, dropped, lines)
            if (other === 'field') own.field('x-other', String(at))
          }
          encode(encoder)
          // RFC 7541 §4.2: a changed limit is announced at the beginning of the next block.
          const isTold = ((encoder.bytes[0] as number) & 0xe0) === 0x20
          assert.equal(isTold, other === 'limit')
          assert.deepEqual(decoded(decoder, encoder), linesOf(encode))
        })
      }),
    )
  })
})
