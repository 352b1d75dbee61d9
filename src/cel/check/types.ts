/** Static types. For the checker, `json` is `dyn`, but guaranteed to be JSON.parse output. */
export type Type =
  | { readonly kind: SimpleKind }
  | { readonly kind: 'list'; readonly element: Type }
  | MapType
  | { readonly kind: 'optional'; readonly element: Type }
  | { readonly kind: 'type'; readonly of: Type }
  | StructType
  | { readonly kind: 'param'; readonly name: string }

export type SimpleKind =
  | 'dyn'
  | 'json'
  | 'null'
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'timestamp'
  | 'duration'
  | 'ip'
  | 'cidr'
  | 'url'
  | 'semver'
  | 'quantity'

export interface MapType {
  readonly kind: 'map'
  readonly key: Type
  readonly value: Type
  /** Header names: keys are looked up in lower case, and constant keys are lowercased at load. */
  readonly caseless?: true
  /** Guarantees that values are plain objects as JSON.parse creates them: claims. */
  readonly plain?: true
}

/** Attributes of the host: known fields, each with a type and when it is set. */
export interface StructType {
  readonly kind: 'struct'
  readonly name: string
  readonly fields: ReadonlyMap<string, Field>
}

export interface Field {
  readonly type: Type
  /** When the field has a value: `always`, or a phrase for users: `when the client sent SNI`. */
  readonly set: string
  readonly doc: string
}

/** Attribute types keep their literal kind, so that `stages.ts` can check values against them. */
export interface Simple<K extends SimpleKind> {
  readonly kind: K
}

export const DYN: Type = { kind: 'dyn' }
export const JSON_VALUE: Type = { kind: 'json' }
export const NULL: Type = { kind: 'null' }
export const BOOL: Type = { kind: 'bool' }
export const INT: Simple<'int'> = { kind: 'int' }
export const UINT: Type = { kind: 'uint' }
export const DOUBLE: Type = { kind: 'double' }
export const STRING: Simple<'string'> = { kind: 'string' }
export const BYTES: Simple<'bytes'> = { kind: 'bytes' }
export const TIMESTAMP: Simple<'timestamp'> = { kind: 'timestamp' }
export const DURATION: Simple<'duration'> = { kind: 'duration' }
export const IP: Simple<'ip'> = { kind: 'ip' }
export const CIDR: Type = { kind: 'cidr' }
export const URL_TYPE: Type = { kind: 'url' }
export const SEMVER: Type = { kind: 'semver' }
export const QUANTITY: Type = { kind: 'quantity' }

export function listOf<E extends Type>(element: E): { readonly kind: 'list'; readonly element: E } {
  return { kind: 'list', element }
}

export function mapOf(key: Type, value: Type): Type {
  return { kind: 'map', key, value }
}

export function optionalOf(element: Type): Type {
  return { kind: 'optional', element }
}

export function typeOf(of: Type): Type {
  return { kind: 'type', of }
}

/** A type parameter of a function's signature: `list(A)`. */
export function param(name: string): Type {
  return { kind: 'param', name }
}

export function isDynamic(type: Type): boolean {
  return type.kind === 'dyn' || type.kind === 'json'
}
