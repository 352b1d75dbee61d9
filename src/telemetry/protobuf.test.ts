import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import fc from 'fast-check'
import { anyText } from '../../test/fuzz/any-text.ts'
import { ProtobufWriter } from './protobuf.ts'
import { readProtobuf } from './protobuf-reader.ts'

function written(write: (writer: ProtobufWriter) => void): BinaryReader {
  const writer = new ProtobufWriter()
  write(writer)
  const reader = new BinaryReader(writer.take())
  reader.tag()
  return reader
}

describe('protobuf', () => {
  for (const [name, arbitrary, write, read] of [
    [
      'uint',
      fc.maxSafeNat(),
      (writer: ProtobufWriter, value: number) => writer.uint(7, value),
      (reader: BinaryReader) => Number(reader.uint64()),
    ],
    [
      'int',
      fc.maxSafeInteger(),
      (writer: ProtobufWriter, value: number) => writer.int(7, value),
      (reader: BinaryReader) => Number(reader.int64()),
    ],
    [
      'sint',
      fc.integer({ min: -(2 ** 51), max: 2 ** 51 }),
      (writer: ProtobufWriter, value: number) => writer.sint(7, value),
      (reader: BinaryReader) => Number(reader.sint64()),
    ],
    [
      'double',
      fc.double({ noNaN: true }),
      (writer: ProtobufWriter, value: number) => writer.double(7, value),
      (reader: BinaryReader) => reader.double(),
    ],
  ] as const) {
    it(`${name} is read as it was written`, () => {
      fc.assert(
        fc.property(arbitrary, (value) => {
          assert.equal(read(written((writer) => write(writer, value))), value)
        }),
      )
    })
  }

  it('whole numbers of 64 bits', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (value) => {
        assert.equal(BigInt(written((writer) => writer.int(1, value)).int64()), value)
      }),
    )
  })

  it('strings, however long, with what is no text replaced', () => {
    fc.assert(
      fc.property(anyText({ maxLength: 400 }), (text) => {
        assert.equal(written((writer) => writer.string(1, text)).string(), text.toWellFormed())
      }),
    )
  })

  it('messages within messages, of any length', () => {
    for (const size of [0, 1, 127, 128, 16_383, 16_384, 300_000]) {
      const reader = written((writer) => {
        const outer = writer.begin(1)
        const inner = writer.begin(2)
        writer.string(3, 'x'.repeat(size))
        writer.end(inner)
        writer.uint(4, 5)
        writer.end(outer)
      })
      const outer = readProtobuf(reader.bytes())
      const inner = readProtobuf(outer?.get(2)?.[0] as Uint8Array)
      assert.deepEqual(inner?.get(3), [Uint8Array.from(Buffer.alloc(size, 'x'))])
      assert.deepEqual(outer?.get(4), [5n])
    }
  })

  it('what is no message is not read', () => {
    for (const bytes of [[0x08], [0x0a, 5, 1], [0x0b], [0x09, 1, 2], Array(11).fill(0xff)]) {
      assert.equal(readProtobuf(Uint8Array.from(bytes)), undefined)
    }
  })
})
