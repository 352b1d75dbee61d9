import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { renderSse, SseReader, writeSse } from './sse.ts'

function read(text: string | Uint8Array, sizes: readonly number[] = [], max?: number) {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text
  const reader = new SseReader(max)
  const events = []
  let at = 0
  for (const size of sizes) {
    events.push(...reader.push(bytes.subarray(at, at + size)))
    at += size
  }
  events.push(...reader.push(bytes.subarray(at)))
  reader.end()
  return { events: events.map(({ event, data }) => [event, data]), reader }
}

describe('server-sent events', () => {
  for (const [text, expected] of [
    ['data: a\n\n', [['', 'a']]],
    ['data:a\n\n', [['', 'a']]],
    ['data:  a\n\n', [['', ' a']]],
    ['data\n\n', [['', '']]],
    ['data: a\ndata: b\n\n', [['', 'a\nb']]],
    [
      'event: x\ndata: a\n\ndata: b\n\n',
      [
        ['x', 'a'],
        ['', 'b'],
      ],
    ],
    ['event: x\n\ndata: b\n\n', [['', 'b']]],
    [': comment\n\ndata: a\n\n', [['', 'a']]],
    [
      'data: a\r\n\r\ndata: b\r\rdata: c\n\n',
      [
        ['', 'a'],
        ['', 'b'],
        ['', 'c'],
      ],
    ],
    ['\ufeffdata: a\n\n', [['', 'a']]],
    ['data: a\n\n\ufeffdata: b\n\n', [['', 'a']]],
    ['id: 1\nretry: 5\nfoo: x\ndata: a\n\n', [['', 'a']]],
    ['data: a\n', []],
    ['data: a', []],
    ['\n\n\n', []],
  ] as const) {
    it(JSON.stringify(text), () => {
      assert.deepEqual(read(text).events, expected)
    })
  }

  it('are the same wherever the bytes are split', () => {
    const piece = fc.constantFrom(
      'data: ',
      'data:ä€🌍',
      'event: x',
      ': c',
      '\n',
      '\r',
      '\r\n',
      '\n\n',
      '\ufeff',
      'id: 1',
      'z',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), fc.array(fc.nat(7)), (pieces, sizes) => {
        const text = pieces.join('')
        assert.deepEqual(read(text, sizes).events, read(text).events)
      }),
    )
  })

  it('rejects an event that is too long, with lines or without', () => {
    assert.equal(read(`data: ${'x'.repeat(200)}\n\n`, [], 100).reader.isTooLong, true)
    assert.equal(read('data: xxxxxxxx\n'.repeat(20), [], 100).reader.isTooLong, true)
    assert.equal(read('data: xxxxxxxx\n\n'.repeat(20), [], 100).reader.isTooLong, false)
    assert.equal(read(': xxxxxxxxxxxx\n'.repeat(20), [], 100).reader.isTooLong, false)
  })

  it('reads a long event in small pieces in linear time', () => {
    const reader = new SseReader()
    const bytes = Buffer.alloc(1000, 'x')
    reader.push(Buffer.from('data: '))
    const before = process.cpuUsage().user
    for (let at = 0; at < 10_000; at++) reader.push(bytes)
    assert.equal(reader.push(Buffer.from('\n\n'))[0]?.data.length, 10_000_000)
    assert.ok(process.cpuUsage().user - before < 5_000_000)
  })

  it('writes what it can read', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (data) => {
        const found = read(writeSse(data, 'x')).events
        assert.deepEqual(found, [['x', data.replace(/\r\n|\r/g, '\n')]])
      }),
    )
    assert.equal(renderSse('a\nb'), 'data: a\ndata: b\n\n')
  })
})
