import type { Term } from '../check/term.ts'
import { isKnown } from '../check/trusted-types.ts'
import type { Value } from '../values/value.ts'

const OBJECT_NAMES = inheritedNames(Object)
const JSON_NAMES = inheritedNames(Object, Array, String, Number, Boolean, BigInt)

/** Names that, read as a property, return what values inherit instead of what they contain. */
function inheritedNames(...kinds: readonly { readonly prototype: object }[]): ReadonlySet<string> {
  return new Set([
    'length',
    ...kinds.flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype)),
  ])
}

/** Whether `value.name` can be read as a property of this operand; undefined means absent. */
export function isProperty(operand: Term, name: string): boolean {
  const { type } = operand
  if (!isKnown(operand)) return false
  if (type.kind === 'struct') return true
  if (type.kind === 'map') return type.plain === true && !OBJECT_NAMES.has(name)
  // For '0', an array would return its first element, and a string its first character.
  return type.kind === 'json' && !JSON_NAMES.has(name) && !/^[0-9]/.test(name)
}

/** Whether a variable with this name can be read as a property of the variables object. */
export function isPlainName(name: string): boolean {
  return !OBJECT_NAMES.has(name)
}

/** Whether this operand is always the output of JSON.parse (or undefined). */
export function isJson(term: Term): boolean {
  const { type } = term
  return isKnown(term) && (type.kind === 'json' || (type.kind === 'map' && type.plain === true))
}

/** Whether `===` decides equality of any value of this term's type with the constant. */
export function isIdentity(constant: Value, other: Term): boolean {
  if (constant === null || typeof constant === 'boolean') return true
  const kind = isKnown(other) ? other.type.kind : 'dyn'
  // Comparing a long string has a cost, wherever it happens.
  if (typeof constant === 'string') {
    return constant.length < 256 && (kind === 'string' || isJson(other))
  }
  // JSON has no boxed doubles, and no uint this small.
  if (typeof constant === 'number')
    return Number.isSafeInteger(constant) && (kind === 'int' || isJson(other))
  return false
}

/** A Set that decides `x in [...]` if `===` decides each element. */
export function memberSet(element: Term, container: Term): Set<Value> | undefined {
  if (container.kind !== 'constant' || !Array.isArray(container.value)) return undefined
  const values = container.value as readonly Value[]
  if (!values.every((value) => isIdentity(value, element))) return undefined
  return new Set(values)
}

/** The JavaScript name of a macro or bind variable. */
export function local(slot: number): string {
  return `v${slot}`
}
