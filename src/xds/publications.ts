import type { Model } from '../model/model.ts'
import type { Outcome } from './delta-stream.ts'
import { type Snapshot, snapshotOf } from './snapshot.ts'

/** Delivers Models to proxies, and collects the outcomes. */
export interface Delivery {
  /** Returns the version that proxies report once they have the Model. */
  publish(gateway: string, model: Model): string
  /** The Gateway no longer exists: disconnects its proxies. */
  withdraw(gateway: string): void
  /** The proxies of a Gateway that are connected to this process. */
  proxies(gateway: string): readonly ConnectedProxy[]
}

export interface ConnectedProxy {
  /** The name of its pod. */
  readonly node: string
  /** The last outcome that it reported; undefined: none yet. */
  readonly outcome: Outcome | undefined
}

/** One stream, as the publications see it. */
export interface Subscriber extends ConnectedProxy {
  /** Called when there is another snapshot, or the Gateway is gone. */
  readonly wake: () => void
}

interface Publication {
  /** Undefined once withdrawn. */
  snapshot: Snapshot | undefined
  readonly subscribers: Set<Subscriber>
}

/** The newest snapshot of each Gateway, and its subscribers. */
export class Publications implements Delivery {
  readonly #gateways = new Map<string, Publication>()
  readonly #changed: (gateway: string) => void

  /** `changed` is called when the proxies of a Gateway, or their outcomes, change. */
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

  /** Undefined if there is no such Gateway here. */
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
  /** The newest snapshot; undefined: the Gateway is gone. */
  readonly snapshot: () => Snapshot | undefined
  /** Reports that the subscriber has another outcome. */
  readonly report: () => void
  readonly close: () => void
}
