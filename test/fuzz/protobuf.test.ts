import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type DescField, type DescMessage, ScalarType, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { decode } from '../../src/protobuf/decode.ts'
import {
  CheckRequestSchema,
  CheckResponseSchema,
} from '../../src/protobuf/generated/envoy/service/auth/v3/external_auth_pb.ts'
import { MetricFamilySchema } from '../../src/protobuf/generated/io/prometheus/client/metrics_pb.ts'
import {
  ExportTraceServiceRequestSchema,
  ExportTraceServiceResponseSchema,
} from '../../src/protobuf/generated/opentelemetry/proto/collector/trace/v1/trace_service_pb.ts'
import { decodeByPeer, encodeByPeer } from '../proxy/protobuf-peer.ts'
import { assertProperty } from './assert-property.ts'
import { mutated } from './mutated-bytes.ts'
import { fuzz } from './runs.ts'

/*
 * protobufjs writes messages, and their bytes are mutated. `decode` never throws, and the messages
 * that it accepts have the same content for protobufjs.
 */
const SCHEMAS: readonly DescMessage[] = [
  CheckRequestSchema,
  CheckResponseSchema,
  ExportTraceServiceRequestSchema,
  ExportTraceServiceResponseSchema,
  MetricFamilySchema,
]

describe('protobuf', () => {
  for (const schema of SCHEMAS) {
    const { typeName } = schema
    const written = anyMessage(schema, 4).map((value) => encodeByPeer(typeName, value))

    it(`${typeName}: what another implementation wrote is read`, () => {
      const property = fc.property(written, (bytes) => {
        assert.deepEqual(readBack(schema, bytes), readByPeer(schema, bytes))
      })
      assertProperty('protobuf', property, fuzz(1))
    })

    // Values that are missing from an enum are unknown fields in proto2, which protobufjs does not
    // support.
    if (schema === MetricFamilySchema) continue

    it(`${typeName}: changed bytes are rejected, or read as another implementation does`, () => {
      const property = fc.property(mutated(written), (bytes) => {
        if (decode(schema, bytes) === undefined) return
        try {
          assert.deepEqual(readBack(schema, bytes), readByPeer(schema, bytes))
        } catch (error) {
          // protobufjs fails on map entries without a value.
          if (!(error instanceof TypeError)) throw error
        }
      })
      assertProperty('protobuf-mutated', property, fuzz(2))
    })
  }
})

/** Reads and writes the message here and reads it with the peer; undefined if it is rejected. */
function readBack(schema: DescMessage, bytes: Buffer): unknown {
  const message = decode(schema, bytes)
  return message && readByPeer(schema, Buffer.from(toBinary(schema, message)))
}

function readByPeer({ typeName }: DescMessage, bytes: Buffer): unknown {
  return withoutNulls(decodeByPeer(typeName, bytes, true))
}

/** A google.protobuf.Value without a kind is null. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
  const members = Object.entries(value).filter(([name]) => name !== 'nullValue')
  return Object.fromEntries(members.map(([name, inner]) => [name, withoutNulls(inner)]))
}

function anyMessage(schema: DescMessage, depth: number): fc.Arbitrary<object> {
  const parts = schema.members.map((member): fc.Arbitrary<object> => {
    // At most one field of a oneof.
    const fields = member.kind === 'oneof' ? member.fields : [member]
    const set = fields.map((field) => fc.record({ [field.localName]: anyField(field, depth) }))
    return fc.oneof(fc.constant({}), ...set)
  })
  return fc.tuple(...parts).map((all) => Object.assign({}, ...all))
}

function anyField(field: DescField, depth: number): fc.Arbitrary<unknown> {
  if (field.fieldKind === 'list') return fc.array(anyElement(field, depth), { maxLength: 3 })
  if (field.fieldKind !== 'map') return anyElement(field, depth)
  // protobufjs drops entries with this name.
  const key = fc.string().filter((name) => name !== '__proto__')
  return fc.dictionary(key, anyElement(field, depth), { maxKeys: 3 })
}

function anyElement(field: DescField, depth: number): fc.Arbitrary<unknown> {
  if (field.message !== undefined) {
    return depth === 0 ? fc.constant({}) : anyMessage(field.message, depth - 1)
  }
  if (field.enum !== undefined)
    return fc.constantFrom(...field.enum.values.map(({ number }) => number))
  switch (field.scalar) {
    case ScalarType.STRING:
      return fc.string({ unit: 'grapheme', maxLength: 8 })
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes))
    case ScalarType.BOOL:
      return fc.boolean()
    case ScalarType.DOUBLE:
      return fc.double()
    case ScalarType.INT32:
    case ScalarType.SINT32:
      return fc.integer()
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return fc.nat()
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String)
    default:
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String)
  }
}
