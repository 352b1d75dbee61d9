import type { ProxyState } from '../delivery.ts'

/** A pod that gets traffic of a Gateway. */
export interface ReadyProxy {
  /** The name of the pod. */
  readonly node: string
  /** The publication that it runs; 0 if unknown. */
  readonly sequence: number
  /** Since when it is not connected; undefined if it is. */
  readonly awaySince: string | undefined
  /** Nothing is known about it yet: it may be about to connect to this or another replica. */
  readonly isExpected: boolean
}

export interface ProxyReports {
  /** The proxies that are connected to a replica. */
  readonly connected: readonly ProxyState[]
  /** The pods that get traffic. */
  readonly ready: readonly string[]
  /** The publication of a version; 0 if unknown. */
  readonly sequenceOf: (version: string) => number
}

interface Known {
  outcome: ProxyState['outcome']
  readonly since: number
  awaySince: number | undefined
}

/** In milliseconds: longer than proxies wait between two attempts to connect. */
const CONNECTS_WITHIN = 30_000

/**
 * What is known about the proxies of each Gateway. A proxy that is no longer connected still runs
 * what it last reported: it keeps its configuration until it gets a newer one.
 */
export class KnownProxies {
  readonly #gateways = new Map<string, Map<string, Known>>()
  readonly #now: () => number

  constructor(now = Date.now) {
    this.#now = now
  }

  /** Also returns the last state of each proxy that is connected or ready. */
  look(
    gateway: string,
    { connected, ready, sequenceOf }: ProxyReports,
  ): { readonly ready: readonly ReadyProxy[]; readonly states: readonly ProxyState[] } {
    const now = this.#now()
    const before = this.#gateways.get(gateway)
    const after = new Map<string, Known>()
    const here = new Map(connected.map(({ node, outcome }) => [node, outcome]))
    for (const node of new Set([...here.keys(), ...ready])) {
      const known = before?.get(node)
      after.set(node, {
        outcome: here.get(node) ?? known?.outcome,
        since: known?.since ?? now,
        awaySince: here.has(node) ? undefined : (known?.awaySince ?? now),
      })
    }
    this.#gateways.set(gateway, after)
    return {
      states: [...after].map(([node, { outcome }]) => ({ node, outcome })),
      ready: ready.map((node) => {
        const { outcome, since = now, awaySince } = after.get(node) ?? {}
        return {
          node,
          sequence: outcome === undefined ? 0 : sequenceOf(outcome.version),
          awaySince: awaySince === undefined ? undefined : timeOf(awaySince),
          isExpected: outcome === undefined && now - since < CONNECTS_WITHIN,
        }
      }),
    }
  }

  /** The Gateway no longer exists. */
  forget(gateway: string): void {
    this.#gateways.delete(gateway)
  }
}

function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d+Z$/, 'Z')
}
