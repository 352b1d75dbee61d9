import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import {
  FieldBlock,
  nameEnd,
  nameStart,
  valueEnd,
  valueStart,
} from '../../src/wire/http2/field-block.ts'
import { HpackDecoder } from '../../src/wire/http2/hpack-decoder.ts'
import { HpackEncoder } from '../../src/wire/http2/hpack-encoder.ts'
import { assertProperty } from './assert-property.ts'
import { type Field, PlainDecoder } from './hpack.plain.ts'
import { fuzz } from './runs.ts'

const block = new FieldBlock()

function read(decoder: HpackDecoder, bytes: Buffer): readonly Field[] | undefined {
  if (!decoder.read(bytes, 0, bytes.length, block)) return undefined
  const text = (from: number, to: number) => block.bytes.toString('latin1', from, to)
  return Array.from({ length: block.count }, (_, i) => [
    text(nameStart(block, i), nameEnd(block, i)),
    text(valueStart(block, i), valueEnd(block, i)),
  ])
}

/**
 * Compares the blocks of a connection up to the first invalid one, after which nothing can be read.
 */
function compare(blocks: readonly Buffer[]): void {
  const [own, plain] = [new HpackDecoder(1_000_000), new PlainDecoder()]
  for (const bytes of blocks) {
    const expected = plain.read(bytes)
    assert.deepEqual(read(own, bytes), expected)
    if (expected === undefined) return
  }
}

const short = fc.stringMatching(/^[a-z0-9 \xe4]{0,12}$/)
const field = fc.tuple(
  fc.constantFrom('date', 'set-cookie', 'x-a', 'etag', `x-${'l'.repeat(200)}`),
  fc.oneof(short, short, fc.constant('v'.repeat(400))),
)
const message = fc.tuple(fc.option(fc.nat(5_000)), fc.array(field, { maxLength: 6 }))
const messages = fc.array(message, { maxLength: 12 })

function encoded(list: readonly (readonly [number | null, readonly Field[]])[]): Buffer[] {
  const encoder = new HpackEncoder()
  return list.map(([size, fields]) => {
    if (size !== null) encoder.limitTable(size)
    encoder.begin()
    encoder.status(403)
    for (const [name, value] of fields) encoder.field(name, value)
    return Buffer.from(encoder.bytes.subarray(0, encoder.length))
  })
}

describe('header blocks', () => {
  it('the reference decoder reads what the encoder writes, unchanged', () => {
    assertProperty(
      'hpack',
      fc.property(messages, (list) => {
        const plain = new PlainDecoder()
        for (const [i, bytes] of encoded(list).entries())
          assert.deepEqual(plain.read(bytes), [[':status', '403'], ...(list[i]?.[1] ?? [])])
      }),
      fuzz(0.2, 50),
    )
  })

  it('mutated blocks are read or rejected as by the reference decoder', () => {
    const change = fc.tuple(fc.nat(11), fc.nat(2_000), fc.nat(255))
    assertProperty(
      'hpack-mutated',
      fc.property(messages, fc.array(change, { maxLength: 4 }), (list, changes) => {
        const blocks = encoded(list)
        for (const [which, at, byte] of changes) {
          const bytes = blocks[which % Math.max(1, blocks.length)]
          if (bytes !== undefined && bytes.length > 0) bytes[at % bytes.length] = byte
        }
        compare(blocks)
      }),
      fuzz(0.5, 100),
    )
  })

  it('arbitrary bytes are read or rejected as by the reference decoder', () => {
    assertProperty(
      'hpack-bytes',
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 6 }), (blocks) =>
        compare(blocks.map((bytes) => Buffer.from(bytes))),
      ),
      fuzz(0.5, 100),
    )
  })
})
