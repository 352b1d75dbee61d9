import type { Term } from '../check/term.ts'
import { isKnown } from '../check/trusted-types.ts'
import type { Value } from '../values/value.ts'

const OBJECT_NAMES = inheritedNames(Object)
const JSON_NAMES = inheritedNames(Object, Array, String, Number, Boolean, BigInt)

/** Reading these as a property would read what values inherit, not what they hold. */
function inheritedNames(...kinds: readonly { readonly prototype: object }[]): ReadonlySet<string> {
  return new Set([
    'length',
    ...kinds.flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype)),
  ])
}

/** May `value.name` be read as a property of this operand, undefined meaning absent? */
export function isProperty(operand: Term, name: string): boolean {
  const { type } = operand
  if (!isKnown(operand)) return false
  if (type.kind === 'struct') return true
  if (type.kind === 'map') return type.plain === true && !OBJECT_NAMES.has(name)
  // An array would give for '0' its first element, and a string with its first character.
  return type.kind === 'json' && !JSON_NAMES.has(name) && !/^[0-9]/.test(name)
}

/** May a variable of this name be read as a property of the variables object? */
export function isPlainName(name: string): boolean {
  return !OBJECT_NAMES.has(name)
}

/** Is this operand always the output of JSON.parse (or undefined)? */
export function isJson(term: Term): boolean {
  const { type } = term
  return isKnown(term) && (type.kind === 'json' || (type.kind === 'map' && type.plain === true))
}

/** Does `===` decide equality of any value of this term's type with the constant? */
export function isIdentity(constant: Value, other: Term): boolean {
  if (constant === null || typeof constant === 'boolean') return true
  const kind = isKnown(other) ? other.type.kind : 'dyn'
  // A long text costs, wherever it is compared.
  if (typeof constant === 'string') {
    return constant.length < 256 && (kind === 'string' || isJson(other))
  }
  // JSON has no boxed doubles, and no uint this small.
  if (typeof constant === 'number')
    return Number.isSafeInteger(constant) && (kind === 'int' || isJson(other))
  return false
}

/** A Set decides `x in [...]` where `===` decides each element. */
export function memberSet(element: Term, container: Term): Set<Value> | undefined {
  if (container.kind !== 'constant' || !Array.isArray(container.value)) return undefined
  const values = container.value as readonly Value[]
  if (!values.every((value) => isIdentity(value, element))) return undefined
  return new Set(values)
}

/** The JavaScript name of a macro's or bind's variable. */
export function local(slot: number): string {
  return `v${slot}`
}
