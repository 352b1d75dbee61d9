import type { Model } from '../model/model.ts'
import type { Outcome } from './delta-stream.ts'
import { type Snapshot, snapshotOf } from './snapshot.ts'

/** How the controller gives Models to proxies, and learns what became of them. */
export interface Delivery {
  /** Returns the version that proxies report when they have it. */
  publish(gateway: string, model: Model): string
  /** There is no such Gateway any more: its proxies are disconnected. */
  withdraw(gateway: string): void
  /** The proxies of a Gateway that are connected here. */
  proxies(gateway: string): readonly ConnectedProxy[]
}

export interface ConnectedProxy {
  /** The name of its pod. */
  readonly node: string
  /** What it applied last; undefined: it has not said yet. */
  readonly outcome: Outcome | undefined
}

/** One stream, as the publications see it. */
export interface Subscriber extends ConnectedProxy {
  /** There is another snapshot, or the Gateway is gone. */
  readonly wake: () => void
}

interface Publication {
  /** Undefined once it is withdrawn. */
  snapshot: Snapshot | undefined
  readonly subscribers: Set<Subscriber>
}

/** The newest snapshot of each Gateway, and who wants to know. */
export class Publications implements Delivery {
  readonly #gateways = new Map<string, Publication>()
  readonly #changed: (gateway: string) => void

  /** `changed`: what is known of the proxies of a Gateway is different now. */
  constructor(changed: (gateway: string) => void = () => {}) {
    this.#changed = changed
  }

  publish(gateway: string, model: Model): string {
    const known = this.#gateways.get(gateway)
    const snapshot = snapshotOf(model, known?.snapshot)
    if (known === undefined) this.#gateways.set(gateway, { snapshot, subscribers: new Set() })
    else if (known.snapshot?.version !== snapshot.version) {
      known.snapshot = snapshot
      for (const { wake } of known.subscribers) wake()
    }
    return snapshot.version
  }

  withdraw(gateway: string): void {
    const known = this.#gateways.get(gateway)
    if (known === undefined) return
    this.#gateways.delete(gateway)
    known.snapshot = undefined
    for (const { wake } of known.subscribers) wake()
  }

  proxies(gateway: string): readonly ConnectedProxy[] {
    const subscribers = this.#gateways.get(gateway)?.subscribers ?? []
    return [...subscribers].map(({ node, outcome }) => ({ node, outcome }))
  }

  /** Undefined: there is no such Gateway here. */
  subscribe(gateway: string, subscriber: Subscriber): Subscription | undefined {
    const publication = this.#gateways.get(gateway)
    if (publication === undefined) return undefined
    publication.subscribers.add(subscriber)
    this.#changed(gateway)
    return {
      snapshot: () => publication.snapshot,
      report: () => this.#changed(gateway),
      close: () => {
        publication.subscribers.delete(subscriber)
        this.#changed(gateway)
      },
    }
  }
}

export interface Subscription {
  /** The newest; undefined: the Gateway is gone. */
  readonly snapshot: () => Snapshot | undefined
  /** The subscriber has another outcome. */
  readonly report: () => void
  readonly close: () => void
}
