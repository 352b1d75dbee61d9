import { BOOL, DOUBLE, INT, QUANTITY, STRING } from '../check/types.ts'
import { double, type Int, int } from '../values/number.ts'
import { parseQuantity, type Quantity, UNIT } from '../values/quantity.ts'
import { defineLibrary, fn, global, method } from './define.ts'

/** Resource quantities, with the names of Kubernetes. Everything is exact except the float. */
export const QUANTITIES = defineLibrary('quantity', [
  fn('quantity', global([STRING], QUANTITY, parseQuantity)),
  fn(
    'isQuantity',
    global([STRING], BOOL, (text: string) => parseQuantity(text) !== undefined),
  ),
  // Kubernetes documents the method but implements the function.
  fn('sign', method([QUANTITY], INT, sign), global([QUANTITY], INT, sign)),
  fn('isInteger', method([QUANTITY], BOOL, isInteger)),
  fn(
    'asInteger',
    method([QUANTITY], INT, (quantity: Quantity) => quantity.toInt()),
  ),
  fn(
    'asApproximateFloat',
    method([QUANTITY], DOUBLE, (quantity: Quantity) => double(quantity.toDouble())),
  ),
  fn(
    'add',
    method([QUANTITY, QUANTITY], QUANTITY, (a: Quantity, b: Quantity) => a.plus(b.nanos, b)),
    method([QUANTITY, INT], QUANTITY, (a: Quantity, b: Int) => a.plus(BigInt(b) * UNIT)),
  ),
  fn(
    'sub',
    method([QUANTITY, QUANTITY], QUANTITY, (a: Quantity, b: Quantity) => a.plus(-b.nanos, b)),
    method([QUANTITY, INT], QUANTITY, (a: Quantity, b: Int) => a.plus(-BigInt(b) * UNIT)),
  ),
  fn(
    'isLessThan',
    method([QUANTITY, QUANTITY], BOOL, (a: Quantity, b: Quantity) => a.compare(b) < 0),
  ),
  fn(
    'isGreaterThan',
    method([QUANTITY, QUANTITY], BOOL, (a: Quantity, b: Quantity) => a.compare(b) > 0),
  ),
  fn(
    'compareTo',
    method([QUANTITY, QUANTITY], INT, (a: Quantity, b: Quantity) => a.compare(b)),
  ),
  fn(
    'string',
    global([QUANTITY], STRING, (quantity: Quantity) => quantity.text),
  ),
])

function sign(quantity: Quantity): number {
  return quantity.sign
}

/** Whether `asInteger` has a result. */
function isInteger(quantity: Quantity): boolean {
  return quantity.isWhole && int(quantity.nanos / UNIT) !== undefined
}
