import type { Read } from '../check/reads.ts'
import type { Variables } from '../emit/functions.ts'
import * as runtime from '../emit/runtime.ts'
import { Struct } from '../values/struct.ts'
import type { Value } from '../values/value.ts'

/** The current value of an attribute; `undefined` if it is not set. */
export function readValue(read: Read, variables: Variables): Value | undefined {
  let value = Object.hasOwn(variables, read.variable) ? variables[read.variable] : undefined
  for (const field of read.fields) {
    if (value === undefined) return undefined
    value = value instanceof Struct ? hostField(value, field) : runtime.getField(value, field)
  }
  return value
}

function hostField(value: Struct, field: string): Value | undefined {
  if (!value.fieldNames.has(field)) return undefined
  return (value as unknown as { readonly [name: string]: Value | undefined })[field]
}
