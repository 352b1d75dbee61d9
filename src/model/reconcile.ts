import { changedRange } from './changed-range.ts'
import type { Gateway } from './gateway.ts'
import type { Model } from './model.ts'

/**
 * Returns the same Model as `next`, with the parts of `previous` that did not change. State kept
 * for a part is found by the part itself, and parts compared here do not need to be compared again.
 * Yields after each thing.
 */
export function* reconcile(previous: Model | undefined, next: Model): Generator<void, Model> {
  if (previous === undefined || previous === next) return next
  const one = <T>(before: T, after: T): T => (isSame(before, after) ? before : after)
  const all = function* <T extends { readonly name: string }>(
    before: readonly T[],
    after: readonly T[],
    merge: (before: T, after: T) => T = one,
  ): Generator<void, readonly T[]> {
    const range = changedRange(before, after)
    const { start, endBefore, end } = range
    // Each is reused once: two things with the same name are two things.
    const known = new Set(before.slice(start, endBefore))
    const left = known.difference(new Set(after.slice(start, end)))
    let byName: Map<string, T> | undefined
    let made: T[] | undefined
    for (let i = firstUnknown(after, start, end, known); i < end; ) {
      const thing = after[i] as T
      const there = before[i]
      const isThere = there !== undefined && there.name === thing.name && left.has(there)
      // Most stay at the same index: names are looked up only for those that do not.
      if (!isThere) byName ??= new Map([...left].map((own) => [own.name, own]))
      const was = isThere ? there : byName?.get(thing.name)
      const merged = was !== undefined && left.delete(was) ? merge(was, thing) : thing
      if (merged !== thing) (made ??= after.slice())[i] = merged
      yield
      i = firstUnknown(after, i + 1, end, known)
    }
    const all = made ?? after
    const changed = changedRange(before, all, range)
    const isUnchanged = changed.start === changed.end && changed.start === changed.endBefore
    return isUnchanged ? before : all
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

/** Separate from the steps: V8 does not optimize a loop in a generator while it runs. */
function firstUnknown<T>(
  things: readonly T[],
  from: number,
  end: number,
  known: ReadonlySet<T>,
): number {
  let i = from
  while (i < end && known.has(things[i] as T)) i++
  return i
}

function isShallowlySame(a: Model, b: Model): boolean {
  const keys = Object.keys({ ...a, ...b }) as (keyof Model)[]
  return keys.every((key) => a[key] === b[key])
}

/** Undefined members count as absent. */
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

/** Uses `for … in`, which allocates no list of keys: thousands of parts are compared. */
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
