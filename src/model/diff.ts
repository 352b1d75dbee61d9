import { canonicalJson } from './json.ts'
import type { Model } from './model.ts'
import { isPlace } from './places.ts'

/** A named thing that a new Model adds, removes or changes. */
export interface Change {
  readonly noun: Noun
  /** For a listener, `gateway/listener`. */
  readonly name: string
  readonly kind: 'added' | 'removed' | 'changed' | 'moved'
}

export type Noun =
  | 'frontend'
  | 'gateway'
  | 'listener'
  | 'route'
  | 'tcpRoute'
  | 'backend'
  | 'llm'
  | 'mcp'
  | 'ui'

/**
 * Lists the differences by named thing, so that everything else stays undisturbed. `moved` marks
 * the first route at a different position, since the order of routes decides between equal matches.
 */
export function diffModels(before: Model, after: Model): readonly Change[] {
  const changes: Change[] = []
  for (const noun of NOUNS) {
    const old = thingsOf(before, noun)
    const now = thingsOf(after, noun)
    for (const name of old.keys()) {
      if (!now.has(name)) changes.push({ noun, name, kind: 'removed' })
    }
    for (const [name, thing] of now) {
      const was = old.get(name)
      if (was === undefined) changes.push({ noun, name, kind: 'added' })
      else if (was !== thing && !isSame(was, thing)) changes.push({ noun, name, kind: 'changed' })
    }
    if (noun !== 'route' && noun !== 'tcpRoute') continue
    const moved = firstMoved([...old.keys()], [...now.keys()])
    if (moved !== undefined) changes.push({ noun, name: moved, kind: 'moved' })
  }
  return changes
}

const NOUNS: readonly Noun[] = [
  'frontend',
  'gateway',
  'listener',
  'route',
  'tcpRoute',
  'backend',
  'llm',
  'mcp',
  'ui',
]

function isSame(a: unknown, b: unknown): boolean {
  return canonicalJson(a, isPlace) === canonicalJson(b, isPlace)
}

type Things = ReadonlyMap<string, unknown>

function thingsOf(model: Model, noun: Noun): Things {
  switch (noun) {
    case 'frontend':
      return new Map([['', model.frontend]])
    case 'gateway':
      // Its listeners are compared separately.
      return new Map(model.gateways.map(({ name, policies }) => [name, policies]))
    case 'listener':
      return new Map(
        model.gateways.flatMap((gateway) =>
          gateway.listeners.map((one) => [`${gateway.name}/${one.name}`, one] as const),
        ),
      )
    case 'route':
      return byName(model.routes)
    case 'tcpRoute':
      return byName(model.tcpRoutes)
    case 'backend':
      return byName(model.backends)
    default: {
      const section = model[noun]
      return section === undefined ? new Map() : new Map([['', section]])
    }
  }
}

function byName(things: readonly { readonly name: string }[]): Things {
  return new Map(things.map((thing) => [thing.name, thing]))
}

function firstMoved(before: readonly string[], after: readonly string[]): string | undefined {
  const stayed = new Set(after)
  const known = new Set(before)
  const old = before.filter((name) => stayed.has(name))
  return after.filter((name) => known.has(name)).find((name, index) => name !== old[index])
}
