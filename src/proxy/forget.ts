import { type Backend, partsOf } from '../model/backend.ts'
import type { Gateway } from '../model/gateway.ts'
import type { Route } from '../model/route.ts'
import { issuersOf } from '../program/kept.ts'
import type { Program } from '../program/program.ts'
import type { Streams } from '../program/streams.ts'
import type { Metrics } from '../telemetry/metrics.ts'

const LABELS = ['listener', 'route', 'backend', 'policy', 'provider'] as const
type Names = Readonly<Record<(typeof LABELS)[number], ReadonlySet<string>>>

/** Series of what the configuration has no more go away. */
export class Forgetting {
  readonly #metrics: Metrics
  /** The newest last. Two, since requests that outlive their Program are counted once they end. */
  #known: readonly Names[] = []

  constructor(metrics: Metrics) {
    this.#metrics = metrics
  }

  swapped(program: Program, streams: Streams): void {
    const next = namesOf(program, streams)
    for (const label of LABELS) {
      for (const names of this.#known) {
        for (const name of names[label]) {
          if (!next[label].has(name)) this.#metrics.forget(label, name)
        }
      }
    }
    this.#known = [...this.#known.slice(-1), next]
  }
}

function namesOf(program: Program, streams: Streams): Names {
  const { model, listeners, clusters } = program
  const backends = [...clusters.values(), ...streams.clusters.values()]
  return {
    // Connections that may ask for several listeners are counted by their gateway.
    listener: new Set(
      listeners.flatMap(({ gateway, listener }) => [gateway, `${gateway}/${listener.name}`]),
    ),
    route: new Set(model.routes.map(({ name }) => name)),
    backend: new Set(backends.map(({ name }) => name)),
    policy: policyNames(model),
    provider: issuersOf(program),
  }
}

/** Of the policies of all places. */
function policyNames({ frontend, gateways, routes, backends }: Program['model']) {
  const names = new Set<string>()
  for (const { policy } of frontend) names.add(policy)
  for (const list of [gateways, routes, backends]) {
    for (const thing of list) for (const name of policiesOf(thing)) names.add(name)
  }
  return names
}

const named = new WeakMap<object, readonly string[]>()

/** Of a thing and all that is within it. Most are those of the Model before: looked at once. */
function policiesOf(thing: Gateway | Route | Backend): readonly string[] {
  const known = named.get(thing)
  if (known !== undefined) return known
  const names = new Set<string>()
  for (const place of placesIn(thing)) for (const { policy } of place.policies) names.add(policy)
  const found = [...names]
  named.set(thing, found)
  return found
}

function placesIn(thing: Gateway | Route | Backend) {
  if ('listeners' in thing) return [thing, ...thing.listeners]
  if (!('rules' in thing)) return [thing, ...partsOf(thing)]
  const { rules } = thing
  const refs = rules.flatMap(({ action }) => (action.kind === 'forward' ? action.backends : []))
  return [thing, ...rules, ...refs]
}
