/** Versions of a Gateway that are remembered: proxies that are further behind count as such. */
const MAX_VERSIONS = 1_000

interface Rollout {
  sequence: number
  /** The oldest first. */
  readonly versions: Map<string, number>
}

/** What was published for each Gateway, in which order. */
export class Rollouts {
  readonly #gateways = new Map<string, Rollout>()

  published(gateway: string, version: string): void {
    const known = this.#gateways.get(gateway) ?? { sequence: 0, versions: new Map() }
    this.#gateways.set(gateway, known)
    known.sequence++
    // Content that was published before and is again is as new as it can be.
    known.versions.delete(version)
    known.versions.set(version, known.sequence)
    const [oldest] = known.versions.keys()
    if (known.versions.size > MAX_VERSIONS && oldest !== undefined) known.versions.delete(oldest)
  }

  withdrawn(gateway: string): void {
    this.#gateways.delete(gateway)
  }

  /** Of the newest publication; 0: there is none. */
  latest(gateway: string): number {
    return this.#gateways.get(gateway)?.sequence ?? 0
  }

  /** Of the publication with this version; 0 where it is not known here. */
  sequenceOf(gateway: string, version: string): number {
    return this.#gateways.get(gateway)?.versions.get(version) ?? 0
  }
}
