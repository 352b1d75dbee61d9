import { type Backend, partsOf } from '../model/backend.ts'
import { differenceOf } from '../model/changed-range.ts'
import type { Gateway } from '../model/gateway.ts'
import { changesBetween } from '../model/layered-map.ts'
import type { Model } from '../model/model.ts'
import type { Route } from '../model/route.ts'
import { issuersOf } from '../program/kept.ts'
import type { Program } from '../program/program.ts'
import type { Streams } from '../program/streams.ts'
import type { Metrics } from '../telemetry/metrics.ts'

const PLACES = ['listener', 'provider'] as const
type Place = (typeof PLACES)[number]
type Label = Place | 'backend' | 'route' | 'policy'

type Clusters = ReadonlyMap<string, { readonly name: string }>
type Places = Readonly<Record<Place, ReadonlySet<string>>>

/** Removes the series of things that are no longer configured. */
export class Forgetting {
  readonly #metrics: Metrics
  #places: Places | undefined
  #madeOf: readonly unknown[] = []
  /** There may be thousands of these: only changes are counted. */
  readonly #routes = new CountedNames()
  readonly #policies = new CountedNames()
  readonly #backends = new CountedNames()
  #clusters: Clusters = new Map()
  #streamClusters: Clusters = new Map()
  #model: Pick<Model, 'frontend' | 'gateways' | 'routes' | 'backends'> = NO_PARTS
  /**
   * Names removed by the last swap: requests that outlive their Program are counted when they end.
   */
  #left: readonly (readonly [Label, string])[] = []

  constructor(metrics: Metrics) {
    this.#metrics = metrics
  }

  swapped(program: Program, streams: Streams): void {
    const places = this.#placesOf(program)
    const left: (readonly [Label, string])[] = []
    for (const label of places === this.#places ? [] : PLACES) {
      for (const name of this.#places?.[label] ?? []) {
        if (!places[label].has(name)) left.push([label, name])
      }
    }
    this.#places = places
    this.#count(program.model)
    this.#countClusters(program.clusters, streams.clusters)
    for (const name of this.#backends.takeGone()) left.push(['backend', name])
    for (const name of this.#routes.takeGone()) left.push(['route', name])
    for (const name of this.#policies.takeGone()) left.push(['policy', name])
    for (const [label, name] of [...this.#left, ...left]) {
      if (!this.#has(label, name)) this.#metrics.forget(label, name)
    }
    this.#left = left
  }

  /** Returns the same object if the listeners are the same. */
  #placesOf(program: Program): Places {
    const { state, listeners } = program
    const made = [state, listeners.length, ...listeners.map(({ listener }) => listener)]
    const isSame = made.every((one, at) => one === this.#madeOf[at])
    this.#madeOf = made
    return isSame && this.#places !== undefined ? this.#places : placeNames(program)
  }

  #has(label: Label, name: string): boolean {
    if (label === 'route') return this.#routes.has(name)
    if (label === 'policy') return this.#policies.has(name)
    if (label === 'backend') return this.#backends.has(name)
    return this.#places?.[label].has(name) === true
  }

  #countClusters(clusters: Clusters, streamClusters: Clusters): void {
    this.#backends.changeEntries(this.#clusters, clusters)
    this.#backends.changeEntries(this.#streamClusters, streamClusters)
    this.#clusters = clusters
    this.#streamClusters = streamClusters
  }

  #count(model: Model): void {
    const before = this.#model
    this.#model = model
    const policyOf = ({ policy }: { readonly policy: string }) => [policy]
    this.#policies.change(before.frontend, model.frontend, policyOf)
    this.#policies.change(before.gateways, model.gateways, policiesOf)
    this.#policies.change(before.routes, model.routes, policiesOf)
    this.#policies.change(before.backends, model.backends, policiesOf)
    this.#routes.change(before.routes, model.routes, ({ name }) => [name])
  }
}

const NO_PARTS = { frontend: [], gateways: [], routes: [], backends: [] }

/** Counts how many things have each name. */
class CountedNames {
  readonly #counts = new Map<string, number>()
  readonly #gone = new Set<string>()

  has(name: string): boolean {
    return this.#counts.has(name)
  }

  /** Counts the differences when one list replaces another. */
  change<T>(before: readonly T[], now: readonly T[], namesOf: (thing: T) => Iterable<string>) {
    if (before === now) return
    const { gone, come } = differenceOf(before, now)
    for (const thing of come) this.#add(namesOf(thing), 1)
    for (const thing of gone) this.#add(namesOf(thing), -1)
  }

  /** The same for maps of named things. */
  changeEntries(before: Clusters, now: Clusters): void {
    for (const change of [...changesBetween(before, now)]) {
      if (change.after !== undefined) this.#add([change.after.name], 1)
      if (change.before !== undefined) this.#add([change.before.name], -1)
    }
  }

  #add(names: Iterable<string>, by: 1 | -1): void {
    for (const name of names) {
      const count = (this.#counts.get(name) ?? 0) + by
      if (count > 0) this.#counts.set(name, count)
      else {
        this.#counts.delete(name)
        this.#gone.add(name)
      }
    }
  }

  /** Names that have disappeared since the last call. */
  takeGone(): readonly string[] {
    const gone = [...this.#gone].filter((name) => !this.#counts.has(name))
    this.#gone.clear()
    return gone
  }
}

function placeNames(program: Program): Places {
  const { listeners } = program
  return {
    // Connections with requests for several listeners are counted by their gateway.
    listener: new Set(
      listeners.flatMap(({ gateway, listener }) => [gateway, `${gateway}/${listener.name}`]),
    ),
    provider: issuersOf(program),
  }
}

type Named = Gateway | Route | Backend

/** Thousands of backends have no policy. */
const NO_NAMES = new Set<string>()

const named = new WeakMap<object, ReadonlySet<string>>()

/** The policies of a thing and everything in it; cached, since consecutive Models share most. */
function policiesOf(thing: Named): ReadonlySet<string> {
  const known = named.get(thing)
  if (known !== undefined) return known
  let names: Set<string> = new Set()
  addNames(thing.policies, names)
  if ('rules' in thing) addRules(thing, names)
  else {
    const inner = 'listeners' in thing ? thing.listeners : partsOf(thing)
    for (const { policies } of inner) addNames(policies, names)
  }
  if (names.size === 0) names = NO_NAMES
  named.set(thing, names)
  return names
}

/** Allocates no lists: there may be thousands of routes. */
function addRules({ rules }: Route, names: Set<string>): void {
  for (let i = 0; i < rules.length; i++) {
    const { policies, action } = rules[i] as Route['rules'][number]
    addNames(policies, names)
    if (action.kind !== 'forward') continue
    for (const ref of action.backends) addNames(ref.policies, names)
  }
}

function addNames(policies: readonly { readonly policy: string }[], names: Set<string>): void {
  for (let i = 0; i < policies.length; i++) names.add((policies[i] as { policy: string }).policy)
}
