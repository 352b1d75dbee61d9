import type { Diagnostic } from './diagnostic.ts'

/**
 * What a reader of user input returns: a value to continue with, or none, and all diagnostics in
 * both cases. A value may come with errors: its invalid parts then fail closed, and the rest keeps
 * serving. Without a value there is at least one error.
 */
export type Result<T extends Present> =
  | { readonly value: T; readonly diagnostics: readonly Diagnostic[] }
  | { readonly value: undefined; readonly diagnostics: readonly Diagnostic[] }

/** `undefined` means that there is no value, so it cannot be one. */
export type Present = NonNullable<unknown> | null

export function success<T extends Present>(
  value: T,
  diagnostics: readonly Diagnostic[] = [],
): Result<T> {
  return { value, diagnostics }
}

export function rejection(diagnostics: readonly Diagnostic[]): Result<never> {
  if (!hasErrors(diagnostics)) throw new Error('a result without a value must say why')
  return { value: undefined, diagnostics }
}

export function hasErrors(diagnostics: readonly Diagnostic[]): boolean {
  return diagnostics.some((diagnostic) => diagnostic.severity === 'error')
}

/** Runs the next stage if the first one returned a value; the diagnostics of both, in order. */
export function andThen<T extends Present, U extends Present>(
  result: Result<T>,
  next: (value: T) => Result<U>,
): Result<U> {
  if (result.value === undefined) return { value: undefined, diagnostics: result.diagnostics }
  const { value, diagnostics } = next(result.value)
  const both = [...result.diagnostics, ...diagnostics]
  return value === undefined
    ? { value: undefined, diagnostics: both }
    : { value, diagnostics: both }
}

/** A list of values if every result has one; the diagnostics of all, not only of the first. */
export function all<T extends Present>(results: readonly Result<T>[]): Result<readonly T[]> {
  const values: T[] = []
  const diagnostics: Diagnostic[] = []
  for (const result of results) {
    diagnostics.push(...result.diagnostics)
    if (result.value !== undefined) values.push(result.value)
  }
  return values.length === results.length
    ? { value: values, diagnostics }
    : { value: undefined, diagnostics }
}
