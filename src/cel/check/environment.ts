import type { FunctionDeclaration, Library, Overload } from '../library/define.ts'
import type { Type } from './types.ts'

export interface Variable {
  readonly name: string
  readonly type: Type
  /** `always`, or a phrase for users: `after JWT authentication verified a token`. */
  readonly set: string
  readonly doc: string
}

/** The names that an expression can use at one place in the configuration. */
export interface Environment {
  readonly name: string
  readonly variables: ReadonlyMap<string, Variable>
  readonly functions: ReadonlyMap<string, Declared>
  /** Variables of other stages: name → hint for users who read them here. */
  readonly elsewhere: ReadonlyMap<string, string>
  /** The namespace in which unqualified names are looked up first. */
  readonly container: string
}

/** The overloads of a name: `f(x)` and `x.f()`. */
export interface Declared {
  readonly globals: readonly Overload[]
  readonly methods: readonly Overload[]
}

export interface EnvironmentOptions {
  readonly name: string
  readonly variables: readonly Variable[]
  readonly libraries: readonly Library[]
  readonly functions?: readonly FunctionDeclaration[]
  readonly elsewhere?: ReadonlyMap<string, string>
  readonly container?: string
}

export function defineEnvironment(options: EnvironmentOptions): Environment {
  const functions = new Map<string, { globals: Overload[]; methods: Overload[] }>()
  const declared = [...options.libraries.flatMap((l) => l.functions), ...(options.functions ?? [])]
  for (const { name, overloads } of declared) {
    const known = functions.get(name) ?? { globals: [], methods: [] }
    functions.set(name, known)
    for (const overload of overloads) {
      if (overload.receiver) known.methods.push(overload)
      else known.globals.push(overload)
    }
  }
  return {
    name: options.name,
    variables: new Map(options.variables.map((variable) => [variable.name, variable])),
    functions,
    elsewhere: options.elsewhere ?? new Map(),
    container: options.container ?? '',
  }
}

/** The names that `name` may refer to in this container, longest first: CEL's C++ rules. */
export function candidates(container: string, name: string): readonly string[] {
  if (name.startsWith('.')) return [name.slice(1)]
  if (container === '') return [name]
  const parts = container.split('.')
  const names: string[] = []
  for (let length = parts.length; length > 0; length--) {
    names.push(`${parts.slice(0, length).join('.')}.${name}`)
  }
  names.push(name)
  return names
}
