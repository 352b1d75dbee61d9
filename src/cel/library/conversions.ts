import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  param,
  STRING,
  TIMESTAMP,
  typeOf,
  UINT,
} from '../check/types.ts'
import { type Duration, parseDuration } from '../values/duration.ts'
import { fail } from '../values/failure.ts'
import { afford } from '../values/fuel.ts'
import { typeName } from '../values/kind.ts'
import { type Double, double, doubleValue, type Int, int, Uint, uint } from '../values/number.ts'
import { utf8Encode } from '../values/text.ts'
import { parseTimestamp, type Timestamp, timestampOf } from '../values/timestamp.ts'
import { TypeValue } from '../values/type-value.ts'
import type { Value } from '../values/value.ts'
import { type FunctionDeclaration, fn, global, type Overload } from './define.ts'
import { printDouble, readBool, readDouble, readInt, readUint } from './number-text.ts'
import { readText } from './read-text.ts'

type DoubleLike = number | Double

const A = param('A')

export const CONVERSIONS: readonly FunctionDeclaration[] = [
  fn(
    'dyn',
    global([A], DYN, (value: Value) => value),
  ),
  fn(
    'type',
    global([A], typeOf(A), (value: Value) => new TypeValue(typeName(value))),
  ),
  fn('bool', same(BOOL), global([STRING], BOOL, readBool)),
  fn(
    'int',
    same(INT),
    global([UINT], INT, (value: Uint) => int(value.value)),
    global([DOUBLE], INT, intOfDouble),
    global([STRING], INT, readInt),
    global([TIMESTAMP], INT, (value: Timestamp) => value.seconds),
    global([DURATION], INT, (value: Duration) => int(value.total)),
  ),
  fn(
    'uint',
    same(UINT),
    global([INT], UINT, (value: Int) => uint(BigInt(value))),
    global([DOUBLE], UINT, uintOfDouble),
    global([STRING], UINT, readUint),
  ),
  fn(
    'double',
    same(DOUBLE),
    global([INT], DOUBLE, (value: Int) => double(Number(value) + 0)),
    global([UINT], DOUBLE, (value: Uint) => double(Number(value.value))),
    global([STRING], DOUBLE, readDouble),
  ),
  fn(
    'string',
    same(STRING),
    global([BOOL], STRING, String),
    global([INT], STRING, String),
    global([UINT], STRING, (value: Uint) => String(value.value)),
    global([DOUBLE], STRING, (value: DoubleLike) => printDouble(doubleValue(value))),
    global([BYTES], STRING, readText, { metered: true }),
    global([TIMESTAMP], STRING, (value: Timestamp) => value.text),
    global([DURATION], STRING, (value: Duration) => value.text),
  ),
  fn('bytes', same(BYTES), global([STRING], BYTES, bytesOfString, { metered: true })),
  fn(
    'timestamp',
    same(TIMESTAMP),
    global([INT], TIMESTAMP, (value: Int) => timestampOf(Number(value), 0)),
    global([STRING], TIMESTAMP, parseTimestamp),
  ),
  fn('duration', same(DURATION), global([STRING], DURATION, parseDuration)),
]

function same(type: Overload['result']): Overload {
  return global([type], type, (value: Value) => value)
}

const TWO_TO_63 = 2 ** 63
const TWO_TO_64 = 2 ** 64

/** Rounds toward zero. -2^63 itself is rejected: it may be a lower number, rounded. */
function intOfDouble(value: DoubleLike): Int | undefined {
  const number = doubleValue(value)
  // Written so that NaN fails too.
  if (!(number > -TWO_TO_63 && number < TWO_TO_63)) return fail('integer overflow')
  return int(BigInt(Math.trunc(number)))
}

function uintOfDouble(value: DoubleLike): Uint | undefined {
  const number = doubleValue(value)
  if (!(number >= 0 && number < TWO_TO_64)) return fail('unsigned integer overflow')
  return new Uint(BigInt(Math.trunc(number)))
}

function bytesOfString(text: string): Uint8Array | undefined {
  return afford(text.length >> 4) ? utf8Encode(text) : undefined
}
