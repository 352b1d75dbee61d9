import { partsOf } from '../model/backend.ts'
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
      const before = new Set(this.#known.flatMap((names) => [...names[label]]))
      for (const name of before) if (!next[label].has(name)) this.#metrics.forget(label, name)
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
    policy: new Set(attachedTo(model).map(({ policy }) => policy)),
    provider: issuersOf(program),
  }
}

/** The policies of all places. */
function attachedTo({ frontend, gateways, routes, backends }: Program['model']) {
  const rules = routes.flatMap((route) => route.rules)
  const refs = rules.flatMap(({ action }) => (action.kind === 'forward' ? action.backends : []))
  const listeners = gateways.flatMap((gateway) => gateway.listeners)
  const places = [...gateways, ...listeners, ...routes, ...rules, ...refs, ...backends]
  const parts = backends.flatMap(partsOf)
  return [...frontend, ...[...places, ...parts].flatMap(({ policies }) => policies)]
}
