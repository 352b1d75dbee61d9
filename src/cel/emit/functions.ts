import type { Value } from '../values/value.ts'

export type Maybe = Value | undefined

/** The values that an expression reads, by name. */
export type Variables = { readonly [name: string]: Maybe }
export type Predicate = (variables: Variables) => boolean
export type Evaluate = (variables: Variables) => Maybe

/** Values of macro and bind variables, by slot. */
export type Frame = Maybe[]
export type Run = (variables: Variables, frame: Frame) => Maybe
export type Test = (variables: Variables, frame: Frame) => boolean
