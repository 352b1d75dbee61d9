import type { Type } from '../check/types.ts'
import type { Value } from '../values/value.ts'

/** A set of functions that environments include whole. */
export interface Library {
  readonly name: string
  readonly functions: readonly FunctionDeclaration[]
}

export interface FunctionDeclaration {
  /** `size`, `startsWith`, or with its name space: `math.greatest`, `base64.encode`. */
  readonly name: string
  readonly overloads: readonly Overload[]
}

/**
 * One signature and its code. `call` gets values of exactly the declared types (never undefined)
 * and returns a value of the result type, or `fail(reason)`. It must not throw, and must be pure
 * unless it says otherwise.
 */
export interface Overload {
  /** true: `a.f(b)`, the receiver is the first parameter; false: `f(a, b)`. */
  readonly receiver: boolean
  readonly params: readonly Type[]
  /** The last parameter may be given any number of times, at least once. */
  readonly variadic?: boolean
  readonly result: Type
  // biome-ignore lint/suspicious/noExplicitAny: each overload knows the JavaScript types of its own parameters
  readonly call: (...args: any[]) => Value | undefined
  /**
   * Set where `call` charges fuel: its work grows with its input. A scan of one text is quick, and a
   * request with a long one is scanned by as many rules as there are.
   */
  readonly metered?: true
  /** Differs from call to call: never folded, and rejected where the result must be reproducible. */
  readonly impure?: true
  /**
   * Called once per compiled expression with the arguments that are constant (undefined for the
   * others): a function for just these, such as one with its pattern compiled, or undefined to
   * use `call`. A reason of failure left in `fail` makes the call a constant error.
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
