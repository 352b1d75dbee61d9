import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  INT,
  STRING,
  TIMESTAMP,
  type Type,
  UINT,
} from '../check/types.ts'
import { type FunctionDeclaration, fn, global, type Overload } from './define.ts'
import { greater, greaterOrEqual, less, lessOrEqual } from './operators.ts'

/** Types that have an order: each type with itself, and numbers with each other. */
const ORDERED: readonly (readonly [Type, Type])[] = [
  [INT, INT],
  [INT, UINT],
  [INT, DOUBLE],
  [UINT, UINT],
  [UINT, INT],
  [UINT, DOUBLE],
  [DOUBLE, DOUBLE],
  [DOUBLE, INT],
  [DOUBLE, UINT],
  [BOOL, BOOL],
  [STRING, STRING],
  [BYTES, BYTES],
  [TIMESTAMP, TIMESTAMP],
  [DURATION, DURATION],
]

export const ORDERING: readonly FunctionDeclaration[] = [
  fn('_<_', ...overloads(less)),
  fn('_<=_', ...overloads(lessOrEqual)),
  fn('_>_', ...overloads(greater)),
  fn('_>=_', ...overloads(greaterOrEqual)),
]

function overloads(call: Overload['call']): readonly Overload[] {
  return ORDERED.map((types) => global(types, BOOL, call))
}
