import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../../test/fuzz/runs.ts'
import { decodeEnvoy, encodeEnvoy } from '../../../test/proxy/envoy-messages.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import { type CheckInput, grpcQuestion, readGrpcResponse } from './grpc.ts'

// Every message is encoded by one protobuf implementation and decoded by another.

const PEER = { address: { text: '203.0.113.9' }, port: 51410 }
const EXCHANGE = {
  source: PEER,
  destination: PEER,
  connection: { sni: 'shop.example' },
  request: {
    id: 'r1',
    method: 'GET',
    pathAndQuery: '/a?b',
    host: 'shop.example',
    scheme: 'https',
    query: 'b',
    version: 'HTTP/1.1',
    startedAt: 1_770_091_506_123,
  },
} as unknown as Exchange

const ASKED: CheckInput = {
  headers: [],
  body: undefined,
  size: 0,
  packAsBytes: false,
  context: {},
  metadata: {},
}

function asked(over: Partial<CheckInput>) {
  const { body } = grpcQuestion(EXCHANGE, { ...ASKED, ...over }, 1000)
  const content = Buffer.from(body)
  assert.equal(content[0], 0)
  assert.equal(content.readUInt32BE(1), content.length - 5)
  return decodeEnvoy('CheckRequest', content.subarray(5)) as unknown as Told
}

interface Told {
  readonly attributes: {
    readonly request: { readonly http: Readonly<Record<string, unknown>> }
    readonly metadataContext: { readonly filterMetadata: { readonly own: object } }
  }
}

function response(content: Uint8Array) {
  const headers = new Map([['grpc-status', '0']])
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(content.length, 1)
  const body = Buffer.concat([prefix, content])
  const received = { status: 200, headers: headers as never, fields: [], trailers: headers, body }
  return readGrpcResponse(received)
}

const { value: json } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: 'grapheme' }),
    fc.double({ noNaN: true }).map((value) => value + 0),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.string(), tie('value'), { maxKeys: 3 }),
}))

/** google.protobuf.Value as an object with its fields. */
function wrapped(value: unknown): object {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'number') return { numberValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (value === null) return { nullValue: 0 }
  if (Array.isArray(value)) return { listValue: { values: value.map(wrapped) } }
  return { structValue: struct(value as object) }
}

function struct(value: object): object {
  const fields: Record<string, unknown> = {}
  for (const [key, inner] of Object.entries(value)) fields[key] = wrapped(inner)
  return { fields }
}

/** The same without empty members: an empty list or map is not on the wire. */
const plain = (value: unknown) =>
  JSON.parse(
    JSON.stringify(value, (_, inner) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(
            Object.entries(inner).filter(
              ([name, own]) =>
                !['fields', 'values'].includes(name) || Object.keys(own as object).length > 0,
            ),
          )
        : inner,
    ),
  )

describe('metadata for an external authorization service', () => {
  it('is decoded as it was set', () => {
    const property = fc.property(fc.dictionary(fc.string(), json), (object) => {
      // protobufjs does not support a member of this name.
      fc.pre(!JSON.stringify(object).includes('__proto__'))
      const { attributes } = asked({ metadata: { own: object as never } })
      const { own } = attributes.metadataContext.filterMetadata
      assert.deepEqual(plain(own), plain(struct(object)))
    })
    fc.assert(property, fuzz(1))
  })

  it('survives a round trip', () => {
    const property = fc.property(fc.dictionary(fc.string(), json), (object) => {
      fc.pre(!JSON.stringify(object).includes('__proto__'))
      const verdict = response(encodeEnvoy('CheckResponse', { dynamicMetadata: struct(object) }))
      assert.ok(verdict.kind === 'allowed')
      assert.equal(JSON.stringify(verdict.metadata), JSON.stringify(object))
    })
    fc.assert(property, fuzz(1))
  })
})

describe('the request to an external authorization service', () => {
  it('contains every header, whatever its name', () => {
    const names = ['__proto__', 'constructor', 'toString', '7', 'x']
    const { body } = grpcQuestion(
      EXCHANGE,
      { ...ASKED, headers: names.map((name) => [name, `of ${name}`]) },
      1000,
    )
    for (const name of names) assert.ok(Buffer.from(body).includes(`of ${name}`), name)
  })

  it('contains the body as a string or as bytes', () => {
    const body = Uint8Array.of(0x61, 0xff)
    const http = (packAsBytes: boolean) =>
      asked({ body, size: 2, packAsBytes }).attributes.request.http
    assert.deepEqual([http(false)['body'], http(false)['rawBody']], ['a\ufffd', undefined])
    assert.deepEqual([http(true)['body'], http(true)['rawBody']], [undefined, Buffer.from(body)])
  })

  it('is encoded even if a value is not well-formed text', () => {
    const { attributes } = asked({ metadata: { own: { a: '\ud800' } } })
    assert.match(JSON.stringify(attributes.metadataContext), /\ufffd/)
  })
})

const ADMITTING = {
  status: { code: 0 },
  okResponse: {
    headers: [{ header: { key: 'x-user', value: 'alice' }, append: { value: true } }],
    headersToRemove: ['x-secret'],
    queryParametersToSet: [{ key: 'tenant', value: 'a' }],
  },
  dynamicMetadata: struct({ a: [1, 'b', { c: null }] }),
}
const DENYING = {
  status: { code: 7 },
  deniedResponse: { status: { code: 401 }, headers: [{ header: { key: 'a', value: 'b' } }] },
}

describe('responses of an external authorization service', () => {
  it('any bytes yield a verdict', () => {
    const property = fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      assert.match(response(bytes).kind, /^(allowed|denied|failed)$/)
    })
    fc.assert(property, fuzz(1))
  })

  it('any modification yields a verdict', () => {
    const change = fc.record({ at: fc.double({ min: 0, max: 1 }), byte: fc.nat(255) })
    const property = fc.property(
      fc.constantFrom(ADMITTING, DENYING),
      fc.array(change, { minLength: 1, maxLength: 4 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (message, changes, cut) => {
        const whole = encodeEnvoy('CheckResponse', message)
        const bytes = whole.subarray(0, Math.ceil(cut * whole.length))
        for (const { at, byte } of changes) bytes[Math.floor(at * bytes.length)] = byte
        assert.match(response(bytes).kind, /^(allowed|denied|failed)$/)
      },
    )
    fc.assert(property, fuzz(1))
  })

  it('no truncated denial admits', () => {
    const whole = encodeEnvoy('CheckResponse', DENYING)
    for (let length = 1; length < whole.length; length++) {
      assert.notEqual(response(whole.subarray(0, length)).kind, 'allowed', `${length} bytes`)
    }
  })

  for (const [what, bytes, kind] of [
    ['nothing at all admits: its status is OK', [], 'allowed'],
    ['a status of seven', [0x0a, 2, 8, 7], 'denied'],
    ['a negative status', [0x0a, 11, 8, ...Array(9).fill(0xff), 1], 'denied'],
    ['a field that nobody knows', [0x0a, 0, 0xfa, 0x3f, 1, 0], 'allowed'],
    ['a field that was cut off', [0x0a, 9, 8], 'failed'],
    ['a group', [0x0b], 'failed'],
    ['a group that ends', [0x0b, 0x0c], 'failed'],
    ['a group that nobody knows', [0xfb, 0x3f, 0xfc, 0x3f], 'failed'],
    ['field 0', [0x00, 0x00], 'failed'],
    ['changes that are no message', [0x1a, 2, 0x12, 9], 'failed'],
    ['a header that is no message', [0x1a, 4, 0x12, 2, 0x0a, 9], 'failed'],
    ['a header without a name', [0x1a, 4, 0x12, 2, 0x0a, 0], 'denied'],
    ['a length beyond all memory', [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], 'failed'],
    ['a length of more than 64 bits', [0x0a, ...Array(9).fill(0x80), 2], 'failed'],
    ['a status that is a number', [0x08, 7], 'failed'],
    ['a code that is a string', [0x0a, 3, 0x0a, 1, 7], 'failed'],
    ['a code that does not fit', [0x0a, 6, 8, 0x80, 0x80, 0x80, 0x80, 0x10], 'failed'],
    ['two statuses', [0x0a, 2, 8, 7, 0x0a, 0], 'failed'],
    ['two codes', [0x0a, 4, 8, 7, 8, 0], 'failed'],
    ['a code beyond its status', [0x0a, 1, 8, 7], 'failed'],
    ['a name to remove that is not UTF-8', [0x1a, 3, 0x2a, 1, 0xff], 'failed'],
  ] as const) {
    it(`${what}: ${kind}`, () => assert.equal(response(Uint8Array.from(bytes)).kind, kind))
  }

  for (const [depth, kind] of [
    [40, 'allowed'],
    [60, 'failed'],
    [5000, 'failed'],
  ] as const) {
    it(`with lists in lists, ${depth} deep: ${kind}`, () => {
      let value: Buffer = Buffer.of()
      // list_value, values
      for (let i = 0; i < depth; i++) value = field(6, field(1, value))
      // dynamic_metadata, fields, value
      assert.equal(response(field(4, field(1, field(2, value)))).kind, kind)
    })
  }

  it('a response without a gRPC status fails', () => {
    const body = Buffer.alloc(5)
    const none = { status: 200, headers: new Map() as never, fields: [], trailers: new Map(), body }
    assert.equal(readGrpcResponse(none).kind, 'failed')
  })
})

function field(number: number, content: Buffer): Buffer {
  const length: number[] = []
  let rest = content.length
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) length.push((rest % 0x80) | 0x80)
  return Buffer.concat([Buffer.of(number * 8 + 2, ...length, rest), content])
}
