import {
  BYTES,
  DOUBLE,
  DURATION,
  INT,
  IP,
  listOf,
  param,
  STRING,
  TIMESTAMP,
  UINT,
} from '../check/types.ts'
import type { Duration } from '../values/duration.ts'
import type { Ip } from '../values/ip.ts'
import { type Double, double, doubleValue } from '../values/number.ts'
import type { Timestamp } from '../values/timestamp.ts'
import { addBytes, addLists, addStrings } from './concat.ts'
import { type FunctionDeclaration, fn, global } from './define.ts'
import {
  addInts,
  addUints,
  divideInts,
  divideUints,
  moduloInts,
  moduloUints,
  multiplyInts,
  multiplyUints,
  negateInt,
  subtractInts,
  subtractUints,
} from './integers.ts'
import { addDurations, subtractDurations } from './operators.ts'

type DoubleLike = number | Double

const LIST = listOf(param('A'))
const METERED = { metered: true } as const

export const ARITHMETIC: readonly FunctionDeclaration[] = [
  fn(
    '_+_',
    global([INT, INT], INT, addInts),
    global([UINT, UINT], UINT, addUints),
    global([DOUBLE, DOUBLE], DOUBLE, (a: DoubleLike, b: DoubleLike) =>
      double(doubleValue(a) + doubleValue(b)),
    ),
    global([STRING, STRING], STRING, addStrings, METERED),
    global([STRING, IP], STRING, (text: string, ip: Ip) => addStrings(text, ip.text), METERED),
    global([BYTES, BYTES], BYTES, addBytes, METERED),
    global([LIST, LIST], LIST, addLists, METERED),
    global([TIMESTAMP, DURATION], TIMESTAMP, (a: Timestamp, b: Duration) => a.plus(b)),
    global([DURATION, TIMESTAMP], TIMESTAMP, (a: Duration, b: Timestamp) => b.plus(a)),
    global([DURATION, DURATION], DURATION, addDurations),
  ),
  fn(
    '_-_',
    global([INT, INT], INT, subtractInts),
    global([UINT, UINT], UINT, subtractUints),
    global([DOUBLE, DOUBLE], DOUBLE, (a: DoubleLike, b: DoubleLike) =>
      double(doubleValue(a) - doubleValue(b)),
    ),
    global([TIMESTAMP, TIMESTAMP], DURATION, (a: Timestamp, b: Timestamp) => a.since(b)),
    global([TIMESTAMP, DURATION], TIMESTAMP, (a: Timestamp, b: Duration) => a.minus(b)),
    global([DURATION, DURATION], DURATION, subtractDurations),
  ),
  fn(
    '_*_',
    global([INT, INT], INT, multiplyInts),
    global([UINT, UINT], UINT, multiplyUints),
    global([DOUBLE, DOUBLE], DOUBLE, (a: DoubleLike, b: DoubleLike) =>
      double(doubleValue(a) * doubleValue(b)),
    ),
  ),
  fn(
    '_/_',
    global([INT, INT], INT, divideInts),
    global([UINT, UINT], UINT, divideUints),
    global([DOUBLE, DOUBLE], DOUBLE, (a: DoubleLike, b: DoubleLike) =>
      double(doubleValue(a) / doubleValue(b)),
    ),
  ),
  fn('_%_', global([INT, INT], INT, moduloInts), global([UINT, UINT], UINT, moduloUints)),
  fn(
    '-_',
    global([INT], INT, negateInt),
    global([DOUBLE], DOUBLE, (a: DoubleLike) => double(-doubleValue(a))),
  ),
]
