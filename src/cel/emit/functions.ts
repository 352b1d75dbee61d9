import type { Value } from '../values/value.ts'

export type Maybe = Value | undefined

/** What an expression reads, by name. */
export type Variables = { readonly [name: string]: Maybe }
export type Predicate = (variables: Variables) => boolean
export type Evaluate = (variables: Variables) => Maybe

/** Values of macros' and binds' variables, by slot. */
export type Frame = Maybe[]
export type Run = (variables: Variables, frame: Frame) => Maybe
export type Test = (variables: Variables, frame: Frame) => boolean
