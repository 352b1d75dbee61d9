import type { Type } from '../check/types.ts'
import type { Value } from '../values/value.ts'

/** A set of functions that environments include as a whole. */
export interface Library {
  readonly name: string
  readonly functions: readonly FunctionDeclaration[]
}

export interface FunctionDeclaration {
  /** `size`, `startsWith`, or with a namespace: `math.greatest`, `base64.encode`. */
  readonly name: string
  readonly overloads: readonly Overload[]
}

/**
 * One signature and its implementation. `call` receives values of exactly the declared types (never
 * undefined) and returns a value of the result type, or `fail(reason)`. It must not throw, and must
 * be pure unless it is declared `impure`.
 */
export interface Overload {
  /** true: `a.f(b)`, where the receiver is the first parameter; false: `f(a, b)`. */
  readonly receiver: boolean
  readonly params: readonly Type[]
  /** The last parameter accepts one or more arguments. */
  readonly variadic?: boolean
  readonly result: Type
  // biome-ignore lint/suspicious/noExplicitAny: each overload knows its own parameter types
  readonly call: (...args: any[]) => Value | undefined
  /**
   * Set if `call` charges fuel because its work grows with its input. A single scan of a string is
   * fast, but every rule may scan a long string of a request.
   */
  readonly metered?: true
  /** The result changes with each call: never folded, and rejected if it must be reproducible. */
  readonly impure?: true
  /**
   * Called once per compiled expression with the constant arguments (undefined for the others).
   * Returns a function specialized for them, such as one with a compiled pattern, or undefined to
   * use `call`. If it leaves a reason in `fail`, the call is a constant error.
   */
  readonly prepare?: (constants: readonly (Value | undefined)[]) => Prepared | undefined
}

// biome-ignore lint/suspicious/noExplicitAny: same parameters as the overload's call
export type Prepared = (...args: any[]) => Value | undefined

export function defineLibrary(name: string, functions: readonly FunctionDeclaration[]): Library {
  return { name, functions }
}

/** `fn('size', global([STRING], INT, (s) => …), method([STRING], INT, (s) => …))` */
export function fn(name: string, ...overloads: readonly Overload[]): FunctionDeclaration {
  return { name, overloads }
}

export function global(
  params: readonly Type[],
  result: Type,
  call: Overload['call'],
  more: Pick<Overload, 'metered' | 'impure' | 'prepare' | 'variadic'> = {},
): Overload {
  return { receiver: false, params, result, call, ...more }
}

export function method(
  params: readonly Type[],
  result: Type,
  call: Overload['call'],
  more: Pick<Overload, 'metered' | 'impure' | 'prepare' | 'variadic'> = {},
): Overload {
  return { receiver: true, params, result, call, ...more }
}
