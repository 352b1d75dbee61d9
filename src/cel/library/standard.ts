import { BOOL, BYTES, INT, listOf, mapOf, param, STRING } from '../check/types.ts'
import { beginsWith, finishesWith, holdsText } from '../values/text-search.ts'
import type { Value } from '../values/value.ts'
import { holds, sizeOf, sizeOfText } from './access.ts'
import { ARITHMETIC } from './arithmetic.ts'
import { CONVERSIONS } from './conversions.ts'
import { defineLibrary, fn, global, method } from './define.ts'
import { ORDERING } from './ordering.ts'

const LIST = listOf(param('A'))
const MAP = mapOf(param('A'), param('B'))

/**
 * CEL's standard functions, except for those in other files: the emitter handles logic, equality,
 * `in` and member access; ./time.ts has the getters of times, and ./regex.ts has `matches`.
 */
export const STANDARD = defineLibrary('standard', [
  ...ARITHMETIC,
  ...ORDERING,
  ...CONVERSIONS,
  fn(
    'size',
    ...[global, method].flatMap((declare) => [
      declare([STRING], INT, sizeOfText, { metered: true }),
      declare([BYTES], INT, (bytes: Uint8Array) => bytes.length),
      declare([LIST], INT, (list: readonly Value[]) => list.length),
      declare([MAP], INT, sizeOf),
    ]),
  ),
  fn(
    'contains',
    method([STRING, STRING], BOOL, holdsText, { metered: true }),
    method([LIST, param('A')], BOOL, holds),
    method([MAP, param('A')], BOOL, holds),
  ),
  fn('startsWith', method([STRING, STRING], BOOL, beginsWith)),
  fn('endsWith', method([STRING, STRING], BOOL, finishesWith)),
])
