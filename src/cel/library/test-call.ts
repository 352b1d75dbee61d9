import type { Value } from '../values/value.ts'
import type { Library } from './define.ts'
import { dispatch } from './dispatch.ts'

/** For tests: calls the functions of a library by name; the receiver is the first argument. */
export function caller(library: Library) {
  return (name: string, ...args: readonly Value[]): Value | undefined => {
    const declared = library.functions.filter((declaration) => declaration.name === name)
    if (declared.length === 0) throw new Error(`unknown function ${name}`)
    return dispatch(
      declared.flatMap((declaration) => declaration.overloads),
      args,
    )
  }
}
