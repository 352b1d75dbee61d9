import type { Gateway } from './gateway.ts'
import type { Model } from './model.ts'

/**
 * The same Model as `next`, with the parts of `previous` wherever nothing about them changed, not
 * even where they are written. Whoever keeps something for a part finds it by the part itself, and
 * what is compared here need not be compared again. In small steps, one for each thing.
 */
export function* reconcile(previous: Model | undefined, next: Model): Generator<void, Model> {
  if (previous === undefined || previous === next) return next
  const one = <T>(before: T, after: T): T => (isSame(before, after) ? before : after)
  const all = function* <T extends { readonly name: string }>(
    before: readonly T[],
    after: readonly T[],
    merge = one<T>,
  ): Generator<void, readonly T[]> {
    const made: T[] = []
    let byName: Map<string, T> | undefined
    for (let i = takeSame(before, after, 0, made); i < after.length; ) {
      const thing = after[i] as T
      const there = before[i]
      // Most stay where they are: names are looked up only where they do not.
      if (there !== undefined && there.name !== thing.name) {
        byName ??= new Map(before.map((known) => [known.name, known]))
      }
      const known = there?.name === thing.name ? there : byName?.get(thing.name)
      made.push(known === undefined ? thing : merge(known, thing))
      yield
      i = takeSame(before, after, i + 1, made)
    }
    const isUnchanged = made.length === before.length && firstOther(before, made, 0) === made.length
    return isUnchanged ? before : made
  }
  const gateway = (before: Gateway, after: Gateway): Gateway => {
    if (isSame(before, after)) return before
    const listeners = after.listeners.map((listener) => {
      const known = before.listeners.find(({ name }) => name === listener.name)
      return known === undefined ? listener : one(known, listener)
    })
    return { ...after, listeners, policies: one(before.policies, after.policies) }
  }
  const sections = Object.fromEntries(
    (['llm', 'mcp', 'ui'] as const).flatMap((name) => {
      const section = next[name]
      return section === undefined ? [] : [[name, one(previous[name], section)]]
    }),
  )
  const made: Model = {
    gateways: yield* all(previous.gateways, next.gateways, gateway),
    routes: yield* all(previous.routes, next.routes),
    tcpRoutes: yield* all(previous.tcpRoutes, next.tcpRoutes),
    backends: yield* all(previous.backends, next.backends),
    frontend: one(previous.frontend, next.frontend),
    ...sections,
  }
  return isShallowlySame(previous, made) ? previous : made
}

/**
 * Takes what is the same object in the same place until something is not; returns where. Apart from
 * the steps: V8 does not optimize a loop of a generator while it runs.
 */
function takeSame<T>(before: readonly T[], after: readonly T[], from: number, made: T[]): number {
  const end = firstOther(before, after, from)
  for (let i = from; i < end; i++) made.push(after[i] as T)
  return end
}

function firstOther<T>(before: readonly T[], after: readonly T[], from: number): number {
  let i = from
  while (i < after.length && before[i] === after[i]) i++
  return i
}

function isShallowlySame(a: Model, b: Model): boolean {
  const keys = Object.keys({ ...a, ...b }) as (keyof Model)[]
  return keys.every((key) => a[key] === b[key])
}

/** What is undefined is as good as absent. */
export function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) {
    return Object.is(a, b)
  }
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false
    for (let i = 0; i < a.length; i++) if (!isSame(a[i], b[i])) return false
    return true
  }
  return !Array.isArray(b) && hasSame(a as Fields, b as Fields)
}

type Fields = Readonly<Record<string, unknown>>

/** By `for … in`, which makes no list of the keys: thousands of parts are looked at. */
function hasSame(a: Fields, b: Fields): boolean {
  let count = 0
  for (const key in a) {
    const own = a[key]
    if (own === undefined) continue
    if (!isSame(own, b[key])) return false
    count++
  }
  for (const key in b) if (b[key] !== undefined) count--
  return count === 0
}
