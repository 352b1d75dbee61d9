import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  BOOL,
  BYTES,
  CIDR,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  IP,
  JSON_VALUE,
  listOf,
  mapOf,
  NULL,
  optionalOf,
  param,
  QUANTITY,
  SEMVER,
  STRING,
  TIMESTAMP,
  type Type,
  typeOf,
  UINT,
  URL_TYPE,
} from '../check/types.ts'
import { parseCidr } from './cidr.ts'
import { parseDuration } from './duration.ts'
import { parseIp } from './ip.ts'
import { accepts, typeName } from './kind.ts'
import { LiteralMap } from './map.ts'
import { Double, Uint } from './number.ts'
import { Optional } from './optional.ts'
import { parseQuantity } from './quantity.ts'
import { parseSemver } from './semver.ts'
import { show } from './show.ts'
import { Struct } from './struct.ts'
import { parseTimestamp } from './timestamp.ts'
import { TypeValue } from './type-value.ts'
import { parseUrl } from './url.ts'
import type { Value } from './value.ts'

class Peer extends Struct {
  readonly structName = 'peer'
  readonly fieldNames = new Set<string>()
}

const PEER: Type = { kind: 'struct', name: 'peer', fields: new Map() }
const OTHER: Type = { kind: 'struct', name: 'other', fields: new Map() }
const LIST = listOf(INT)
const MAP = mapOf(STRING, INT)
const ALL = [
  NULL,
  BOOL,
  INT,
  UINT,
  DOUBLE,
  STRING,
  BYTES,
  LIST,
  MAP,
  TIMESTAMP,
  DURATION,
  IP,
  CIDR,
  optionalOf(INT),
  typeOf(INT),
  PEER,
  OTHER,
  URL_TYPE,
  SEMVER,
  QUANTITY,
]

describe('the type of', () => {
  for (const [value, name, type] of [
    [null, 'null_type', NULL],
    [true, 'bool', BOOL],
    [1, 'int', INT],
    [2n ** 60n, 'int', INT],
    [0.5, 'double', DOUBLE],
    [Number.NaN, 'double', DOUBLE],
    [2 ** 53, 'double', DOUBLE],
    [new Double(1), 'double', DOUBLE],
    [new Uint(1n), 'uint', UINT],
    ['a', 'string', STRING],
    [new Uint8Array(1), 'bytes', BYTES],
    [Buffer.from('a'), 'bytes', BYTES],
    [['a'], 'list', LIST],
    [{ a: 'a' }, 'map', MAP],
    [Object.create(null), 'map', MAP],
    [LiteralMap.of([[1, 1]]) as Value, 'map', MAP],
    [parseTimestamp('2009-02-13T23:31:30Z') as Value, 'google.protobuf.Timestamp', TIMESTAMP],
    [parseDuration('1s') as Value, 'google.protobuf.Duration', DURATION],
    [parseIp('::1') as Value, 'net.IP', IP],
    [parseCidr('::/0') as Value, 'net.CIDR', CIDR],
    [parseUrl('/a') as Value, 'kubernetes.URL', URL_TYPE],
    [parseSemver('1.2.3') as Value, 'kubernetes.Semver', SEMVER],
    [parseQuantity('1Gi') as Value, 'kubernetes.Quantity', QUANTITY],
    [Optional.none, 'optional_type', ALL[13]],
    [new TypeValue('int'), 'type', ALL[14]],
    [new Peer(), 'peer', PEER],
  ] as [Value, string, Type][]) {
    it(`${show(value)} is ${name}, and only a parameter of that type takes it`, () => {
      assert.equal(typeName(value), name)
      for (const other of ALL) assert.equal(accepts(other, value), other === type)
      for (const any of [DYN, JSON_VALUE, param('A')]) assert.ok(accepts(any, value))
    })
  }
})
