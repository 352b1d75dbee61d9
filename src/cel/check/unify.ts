import { DYN, isDynamic, listOf, mapOf, optionalOf, type Type, typeOf } from './types.ts'

/** The bindings of type parameters while one expression is checked. */
export class Substitution {
  readonly #bound = new Map<string, Type>()
  /** Previous bindings in order, so that an attempt can be undone. */
  readonly #trail: (readonly [name: string, before: Type | undefined])[] = []
  #fresh = 0

  /** Whether some node has a type that may become known only later. */
  open = false

  /** A type that is not known yet, such as the element type of `[]`. */
  unknown(): Type {
    this.open = true
    return this.#param()
  }

  #param(): Type {
    return { kind: 'param', name: `_${this.#fresh++}` }
  }

  /** Renames the parameters of a signature, so that two calls do not share them. */
  instantiate(types: readonly Type[]): readonly Type[] {
    if (!types.some(isGeneric)) return types
    const renamed = new Map<string, Type>()
    const rename = (type: Type): Type => {
      if (type.kind !== 'param') return map(type, rename)
      const known = renamed.get(type.name) ?? this.#param()
      renamed.set(type.name, known)
      return known
    }
    return types.map(rename)
  }

  /** Runs `attempt` and undoes its bindings if it returns false. */
  tentatively(attempt: () => boolean): boolean {
    const before = this.#trail.length
    if (attempt()) return true
    for (const [name, type] of this.#trail.splice(before).reverse()) {
      if (type === undefined) this.#bound.delete(name)
      else this.#bound.set(name, type)
    }
    return false
  }

  /** Whether a value of type `from` is accepted as `to`. Binds parameters on both sides. */
  assignable(from: Type, to: Type): boolean {
    const a = this.#shallow(from)
    if (isDynamic(a)) {
      this.#loosen(to)
      return true
    }
    const b = this.#shallow(to)
    if (a === b) return true
    if (b.kind === 'param') return this.#bind(b.name, a)
    if (a.kind === 'param') return this.#bind(a.name, b)
    if (isDynamic(b)) return true
    if (a.kind === 'null' && NULLABLE.has(b.kind)) return true
    if (a.kind !== b.kind) return false
    if (a.kind === 'list' && b.kind === 'list') return this.assignable(a.element, b.element)
    if (a.kind === 'optional' && b.kind === 'optional') return this.assignable(a.element, b.element)
    if (a.kind === 'map' && b.kind === 'map') {
      return this.assignable(a.key, b.key) && this.assignable(a.value, b.value)
    }
    if (a.kind === 'struct' && b.kind === 'struct') return a.name === b.name
    return true
  }

  /** The type that both fit, or dyn if there is none. */
  join(a: Type, b: Type): Type {
    const fits =
      this.tentatively(() => this.assignable(a, b)) || this.tentatively(() => this.assignable(b, a))
    return fits ? moreGeneral(this.substituted(a), this.substituted(b)) : DYN
  }

  /** Replaces all parameters; unbound ones become dyn. */
  resolve(type: Type): Type {
    const known = this.#shallow(type)
    return known.kind === 'param' ? DYN : map(known, (inner) => this.resolve(inner))
  }

  /** Replaces bound parameters; an unbound one leaves the expression open. */
  substituted(type: Type): Type {
    const known = this.#shallow(type)
    if (known.kind === 'param') this.open = true
    return map(known, (inner) => this.substituted(inner))
  }

  /** The type as far as it is known; a parameter only if it is unbound. */
  shallow(type: Type): Type {
    return this.#shallow(type)
  }

  #shallow(type: Type): Type {
    let known = type
    while (known.kind === 'param') {
      const next = this.#bound.get(known.name)
      if (next === undefined) return known
      known = next
    }
    return known
  }

  #bind(name: string, type: Type): boolean {
    if (type.kind === 'param' && type.name === name) return true
    if (this.#occurs(name, type)) return false
    this.#set(name, type)
    return true
  }

  #set(name: string, type: Type): void {
    this.#trail.push([name, this.#bound.get(name)])
    this.#bound.set(name, type)
  }

  /**
   * A dynamic value is used as this type: its parts can be anything, so every parameter in the type
   * becomes dyn, whatever another argument bound it to. Otherwise the result of the call would
   * promise a type that the value may not have, and the overloads for other types would be lost.
   */
  #loosen(type: Type): void {
    if (type.kind !== 'param') {
      map(type, (inner) => {
        this.#loosen(inner)
        return inner
      })
      return
    }
    const known = this.#bound.get(type.name)
    if (known?.kind === 'param') this.#loosen(known)
    else if (known === undefined || !isDynamic(known)) this.#set(type.name, DYN)
  }

  #occurs(name: string, type: Type): boolean {
    const known = this.#shallow(type)
    if (known.kind === 'param') return known.name === name
    let found = false
    map(known, (inner) => {
      found ||= this.#occurs(name, inner)
      return inner
    })
    return found
  }
}

function isGeneric(type: Type): boolean {
  switch (type.kind) {
    case 'param':
      return true
    case 'list':
    case 'optional':
      return isGeneric(type.element)
    case 'map':
      return isGeneric(type.key) || isGeneric(type.value)
    case 'type':
      return isGeneric(type.of)
    default:
      return false
  }
}

const NULLABLE = new Set([
  'timestamp',
  'duration',
  'struct',
  'ip',
  'cidr',
  'url',
  'semver',
  'quantity',
  'optional',
])

/** Of two compatible types, the one that covers the values of both. */
function moreGeneral(a: Type, b: Type): Type {
  if (isDynamic(a) || isDynamic(b)) return DYN
  if (a.kind === 'null') return b
  if (a.kind === 'list' && b.kind === 'list') return listOf(moreGeneral(a.element, b.element))
  if (a.kind === 'optional' && b.kind === 'optional') {
    return optionalOf(moreGeneral(a.element, b.element))
  }
  if (a.kind === 'map' && b.kind === 'map') {
    return mapOf(moreGeneral(a.key, b.key), moreGeneral(a.value, b.value))
  }
  return a
}

/** Applies `change` to the component types. */
function map(type: Type, change: (inner: Type) => Type): Type {
  switch (type.kind) {
    case 'list': {
      const element = change(type.element)
      return element === type.element ? type : listOf(element)
    }
    case 'optional': {
      const element = change(type.element)
      return element === type.element ? type : optionalOf(element)
    }
    case 'map': {
      const key = change(type.key)
      const value = change(type.value)
      if (key === type.key && value === type.value) return type
      return { ...type, key, value }
    }
    case 'type': {
      const of = change(type.of)
      return of === type.of ? type : typeOf(of)
    }
    default:
      return type
  }
}

/** The type as users read it: `map(string, dyn)`. */
export function showType(type: Type): string {
  switch (type.kind) {
    case 'json':
      return 'dyn'
    case 'null':
      return 'null'
    case 'list':
      return `list(${showType(type.element)})`
    case 'map':
      return `map(${showType(type.key)}, ${showType(type.value)})`
    case 'optional':
      return `optional(${showType(type.element)})`
    case 'type':
      return `type(${showType(type.of)})`
    case 'struct':
    case 'param':
      return type.name
    default:
      return type.kind
  }
}
