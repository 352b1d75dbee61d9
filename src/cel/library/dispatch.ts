import { fail } from '../values/failure.ts'
import { accepts } from '../values/kind.ts'
import type { Value } from '../values/value.ts'
import type { Overload } from './define.ts'

/** Calls the overload whose parameters fit these values; an error if there is none. */
export function dispatch(
  overloads: readonly Overload[],
  args: readonly Value[],
): Value | undefined {
  for (const overload of overloads) if (fits(overload, args)) return overload.call(...args)
  return fail('no such overload')
}

function fits({ params, variadic }: Overload, args: readonly Value[]): boolean {
  if (variadic ? args.length < params.length : args.length !== params.length) return false
  for (let i = 0; i < args.length; i++) {
    const param = params[i < params.length ? i : params.length - 1]
    if (param === undefined || !accepts(param, args[i] as Value)) return false
  }
  return true
}
