import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type HelloOutcome, HelloReader } from '../../src/wire/tls/client-hello.ts'
import { alpn, helloMessage, inRecords, serverName, vector, versions } from '../tls/hello-bytes.ts'
import { assertProperty } from './assert-property.ts'
import { plainHello } from './client-hello.plain.ts'
import { mutated, portionsOf } from './mutated-bytes.ts'
import { fuzz } from './runs.ts'

const name = fc.oneof(
  fc.constantFrom('a.test', 'API.example.com', 'x.', 'a..b', '', '10.0.0.1', '-_-'),
  fc.string({ maxLength: 12 }),
)

const extension = fc.oneof(
  name.map((own) => serverName(own)),
  fc.array(fc.string({ maxLength: 5 }), { maxLength: 3 }).map((own) => alpn(...own)),
  fc.array(fc.nat(0xffff), { maxLength: 3 }).map((own) => versions(...own)),
  fc.tuple(fc.nat(50), fc.uint8Array({ maxLength: 9 })).map(pair),
  fc.uint8Array({ maxLength: 9 }).map((own) => pair([0, vector(2, Buffer.from(own))])),
)

function pair([kind, bytes]: readonly [number, Uint8Array]): readonly [number, Buffer] {
  return [kind, Buffer.from(bytes)]
}

const hello = fc
  .record({
    version: fc.constantFrom(0x0303, 0x0301, 0x0304, 0x0403),
    session: fc.constantFrom(0, 32, 33).map((length) => Buffer.alloc(length, 1)),
    extensions: fc.option(fc.array(extension, { maxLength: 5 }), { nil: undefined }),
  })
  .map((parts) => helloMessage(parts))

const wire = fc
  .tuple(hello, fc.constantFrom(16_384, 16_384, 1, 3, 40), fc.uint8Array({ maxLength: 6 }))
  .map(([message, size, rest]) => Buffer.concat([inRecords(message, size), rest]))

describe('ClientHellos, compared with the reference implementation', () => {
  const runs = fuzz(1)

  it(`${runs.numRuns} ClientHellos, cut anywhere`, () => {
    const property = fc.property(mutated(wire), portionsOf(), (bytes, cut) => {
      const reader = new HelloReader()
      let outcome: HelloOutcome = 'more'
      for (const end of cut(bytes.length)) {
        // A new buffer each time, since the reader must not rely on the previous one.
        outcome = reader.read(Buffer.from(bytes.subarray(0, end)))
        if (outcome !== 'more') break
      }
      assert.deepEqual(outcome, plainHello(bytes))
    })
    assertProperty('client-hello', property, runs)
  })
})
