import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type ProxyOutcome, readProxyHeader } from '../../src/wire/proxy-protocol/read.ts'
import { proxyV2, summed, tlv, V4, V6 } from '../tls/proxy-header.ts'
import { assertProperty } from './assert-property.ts'
import { mutated, portionsOf } from './mutated-bytes.ts'
import { plainProxyHeader } from './proxy-protocol.plain.ts'
import { fuzz } from './runs.ts'

const word = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.nat(70_000).map(String),
  fc.constantFrom('TCP4', 'TCP6', 'UNKNOWN', '', '0', '007', '::1%lo', '::ffff:10.0.0.1'),
)
const lines = fc.oneof(
  fc
    .tuple(fc.ipV4(), fc.ipV4(), fc.nat(65_535), fc.nat(65_535))
    .map((own) => `TCP4 ${own.join(' ')}`),
  fc
    .tuple(fc.ipV6(), fc.ipV6(), fc.nat(65_535), fc.nat(65_535))
    .map((own) => `TCP6 ${own.join(' ')}`),
  fc.array(word, { maxLength: 6 }).map((own) => own.join(' ')),
  fc.string({ maxLength: 110 }),
)
const extension = fc
  .tuple(fc.nat(6), fc.uint8Array({ maxLength: 6 }))
  .map(([kind, value]) => tlv(kind, Buffer.from(value)))
const extensions = fc.array(extension, { maxLength: 3 }).map((own) => Buffer.concat(own))
const family = fc.constantFrom(0x11, 0x11, 0x21, 0x31, 0, 0x12, 0x41)
const command = fc.constantFrom(0x21, 0x21, 0x21, 0x20, 0x22, 0x11)
const addresses = fc.constantFrom(V4, V6, Buffer.alloc(216), Buffer.alloc(0))
const binary = fc.oneof(
  fc
    .tuple(command, family, addresses, extensions)
    .map(([own, kind, ends, rest]) => proxyV2(own, kind, Buffer.concat([ends, rest]))),
  fc.tuple(extensions).map(([rest]) => summed(0x11, Buffer.concat([V4, rest]))),
)
const header = fc.oneof(
  lines.map((line) => Buffer.from(`PROXY ${line}\r\n`, 'latin1')),
  binary,
  fc.uint8Array({ maxLength: 20 }).map((own) => Buffer.from(own)),
)

describe('PROXY headers, compared with the reference implementation', () => {
  const runs = fuzz(1)

  it(`${runs.numRuns} headers, cut anywhere`, () => {
    const versions = fc.constantFrom('All', 'All', 'V1', 'V2')
    const property = fc.property(mutated(header), portionsOf(), versions, (bytes, cut, version) => {
      let outcome: ProxyOutcome = 'more'
      for (const end of cut(bytes.length)) {
        outcome = readProxyHeader(bytes.subarray(0, end), version)
        if (outcome !== 'more') break
      }
      assert.deepEqual(outcome, plainProxyHeader(bytes, version))
    })
    assertProperty('proxy-protocol', property, runs)
  })
})
