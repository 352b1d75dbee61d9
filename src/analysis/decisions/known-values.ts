import type { JsonObject, Value } from '../../cel/values/value.ts'

/**
 * What a record contains about one or all variables of expressions: a tree whose nodes are known,
 * known to be absent, or unknown.
 */
export class KnownValues {
  readonly #root: Members = { kind: 'members', members: new Map() }
  #built: JsonObject | undefined

  /** Records the exact value. */
  set(steps: readonly string[], value: Value): void {
    this.#put(steps, { kind: 'value', value })
  }

  unset(steps: readonly string[]): void {
    this.#put(steps, { kind: 'unset' })
  }

  /** Records that the attribute is present; nothing more is known about it. */
  present(steps: readonly string[]): void {
    this.#put(steps, { kind: 'present' })
  }

  /** Records that the attribute has members, some of which may be known. */
  open(steps: readonly string[]): void {
    this.#put(steps, { kind: 'members', members: new Map() })
  }

  /** Records that the attribute is a string, number or similar, which has no members to select. */
  memberless(steps: readonly string[], type: string): void {
    this.#put(steps, { kind: 'memberless', type })
  }

  /** Replaces a variable with another tree. */
  graft(variable: string, other: KnownValues): void {
    this.#root.members.set(variable, other.#root)
    this.#built = undefined
  }

  /**
   * Whether an expression that reads this attribute, or only tests whether it is present, has a
   * single possible result.
   */
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

  /** The known values, with stand-ins for attributes that are present but unknown. */
  variables(): JsonObject {
    this.#built ??= built(this.#root) as JsonObject
    return this.#built
  }

  #put(steps: readonly string[], node: Node): void {
    this.#built = undefined
    let at: Node = this.#root
    for (const step of steps.slice(0, -1)) {
      // An attribute that is known as a whole has nothing to add.
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

/** Higher for nodes with more information. */
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

/** Splits `jwt.realm['a-b']` into its parts; undefined if the name cannot be parsed. */
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

/** Header names are case-insensitive. */
export function canonical(steps: readonly string[]): readonly string[] {
  const [variable, field, header, ...more] = steps
  if (variable !== 'request' || field !== 'headers' || header === undefined) return steps
  return [variable, field, header.toLowerCase(), ...more]
}
