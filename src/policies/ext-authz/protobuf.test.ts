import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../../test/fuzz/runs.ts'
import { readGrpcAnswer } from './grpc.ts'
import { read } from './protobuf.ts'
import { readStruct, structOf } from './struct.ts'

describe('structs of protobuf', () => {
  const number = fc.double({ noNaN: true }).map((value) => value + 0)
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.string({ unit: 'grapheme' }),
      number,
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 3 }),
      tie('object'),
    ),
    object: fc.dictionary(fc.string(), tie('value'), { maxKeys: 3 }),
  }))

  it('are read as they were written', () => {
    const property = fc.property(fc.dictionary(fc.string(), value), (object) => {
      const written = Buffer.concat(structOf(object as never).flat())
      assert.deepEqual(JSON.stringify(readStruct(read(written))), JSON.stringify(object))
    })
    fc.assert(property, fuzz(1))
  })
})

describe('answers of a service', () => {
  const headers = new Map([['grpc-status', '0']])
  const answer = (content: Uint8Array) => {
    const prefix = Buffer.alloc(5)
    prefix.writeUInt32BE(content.length, 1)
    const body = Buffer.concat([prefix, content])
    return readGrpcAnswer({
      status: 200,
      headers: headers as never,
      fields: [],
      trailers: headers,
      body,
    })
  }

  it('whatever the octets are, there is a verdict', () => {
    const property = fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      assert.match(answer(bytes).kind, /^(allowed|denied|failed)$/)
    })
    fc.assert(property, fuzz(1))
  })

  for (const [what, octets, kind] of [
    ['nothing at all admits: its status is OK', [], 'allowed'],
    ['a status of seven', [0x0a, 2, 8, 7], 'denied'],
    ['a field that was cut off', [0x0a, 9, 8], 'failed'],
    ['a group', [0x0b], 'failed'],
    ['changes that are no message', [0x1a, 2, 0x12, 9], 'failed'],
    ['a header that is no message', [0x1a, 4, 0x12, 2, 0x0a, 9], 'failed'],
    ['a header without a name', [0x1a, 4, 0x12, 2, 0x0a, 0], 'denied'],
    ['a length beyond all memory', [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], 'failed'],
  ] as const) {
    it(`${what}: ${kind}`, () => assert.equal(answer(Uint8Array.from(octets)).kind, kind))
  }

  it('without a status of gRPC it is none', () => {
    const body = Buffer.alloc(5)
    const none = { status: 200, headers: new Map() as never, fields: [], trailers: new Map(), body }
    assert.equal(readGrpcAnswer(none).kind, 'failed')
  })
})
