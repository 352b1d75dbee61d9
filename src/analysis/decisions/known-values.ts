import type { JsonObject, Value } from '../../cel/values/value.ts'

/**
 * What a record tells of one variable of expressions, or of all of them: a tree in which every
 * part is known, known not to be there, or not known.
 */
export class KnownValues {
  readonly #root: Members = { kind: 'members', members: new Map() }
  #built: JsonObject | undefined

  /** The value is this. */
  set(steps: readonly string[], value: Value): void {
    this.#put(steps, { kind: 'value', value })
  }

  unset(steps: readonly string[]): void {
    this.#put(steps, { kind: 'unset' })
  }

  /** It is there, and no more is known of it. */
  present(steps: readonly string[]): void {
    this.#put(steps, { kind: 'present' })
  }

  /** It has members, of which some may be known. */
  open(steps: readonly string[]): void {
    this.#put(steps, { kind: 'members', members: new Map() })
  }

  /** It is a text, a number or the like: nothing can be selected from it. */
  memberless(steps: readonly string[], type: string): void {
    this.#put(steps, { kind: 'memberless', type })
  }

  /** Another tree in place of a variable. */
  graft(variable: string, other: KnownValues): void {
    this.#root.members.set(variable, other.#root)
    this.#built = undefined
  }

  /** Whether an expression that reads this, or only tests that it is there, comes out one way. */
  isKnown(steps: readonly string[], isTest: boolean): boolean {
    let node: Node | undefined = this.#root
    for (const [at, step] of steps.entries()) {
      if (node === undefined || node.kind === 'present') return false
      if (node.kind !== 'members') return true
      node = node.members.get(step)
      const isLast = at === steps.length - 1
      if (isLast && isTest && node !== undefined) return true
    }
    return node?.kind === 'value' || node?.kind === 'unset'
  }

  valueAt(steps: readonly string[]): Value | undefined {
    let node: Node | undefined = this.#root
    for (const step of steps) node = node?.kind === 'members' ? node.members.get(step) : undefined
    return node?.kind === 'value' ? node.value : undefined
  }

  /** Values of what is known, and something in place of what is there and not known. */
  variables(): JsonObject {
    this.#built ??= built(this.#root) as JsonObject
    return this.#built
  }

  #put(steps: readonly string[], node: Node): void {
    this.#built = undefined
    let at: Node = this.#root
    for (const step of steps.slice(0, -1)) {
      // Of something that is known as a whole nothing is left to be said.
      if (at.kind !== 'members') return
      const below: Node | undefined = at.members.get(step)
      const next: Node =
        below === undefined || below.kind === 'present'
          ? { kind: 'members', members: new Map() }
          : below
      at.members.set(step, next)
      at = next
    }
    const last = steps.at(-1)
    if (at.kind !== 'members' || last === undefined) return
    const known = at.members.get(last)
    if (known === undefined || rankOf(node) > rankOf(known)) at.members.set(last, node)
  }
}

interface Members {
  readonly kind: 'members'
  readonly members: Map<string, Node>
}

type Node =
  | Members
  | { readonly kind: 'value'; readonly value: Value }
  | { readonly kind: 'unset' }
  | { readonly kind: 'present' }
  | { readonly kind: 'memberless'; readonly type: string }

const RANKS = { present: 0, members: 1, memberless: 1, unset: 2, value: 2 } as const

/** Who says more. */
function rankOf({ kind }: Node): number {
  return RANKS[kind]
}

function built(node: Node): Value | undefined {
  switch (node.kind) {
    case 'value':
      return node.value
    case 'unset':
      return undefined
    case 'present':
      return null
    case 'memberless':
      return STAND_INS[node.type] ?? null
    case 'members': {
      const all = [...node.members].map(([name, below]) => [name, built(below)] as const)
      return Object.fromEntries(all.filter(([, value]) => value !== undefined)) as JsonObject
    }
  }
}

const STAND_INS: Readonly<Record<string, Value>> = { string: '', number: 0, bool: false, list: [] }

/** `jwt.realm['a-b']` as its parts; undefined where that cannot be told. */
export function stepsOf(name: string): readonly string[] | undefined {
  const steps: string[] = []
  for (let rest = name; rest !== ''; ) {
    const [all = '', first, plain, quoted] =
      /^(?:(\w+)|\.([A-Za-z_]\w*)|\['([^']*)'\])/.exec(rest) ?? []
    if (all === '' || (first !== undefined) !== (steps.length === 0)) return undefined
    steps.push(first ?? plain ?? quoted ?? '')
    rest = rest.slice(all.length)
  }
  return steps.length === 0 || steps.includes('__proto__') ? undefined : canonical(steps)
}

/** Names of headers are the same in any case. */
export function canonical(steps: readonly string[]): readonly string[] {
  const [variable, field, header, ...more] = steps
  if (variable !== 'request' || field !== 'headers' || header === undefined) return steps
  return [variable, field, header.toLowerCase(), ...more]
}
