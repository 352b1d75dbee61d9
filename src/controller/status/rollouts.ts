/** Versions of a Gateway that are kept: proxies with older versions count as outdated. */
const MAX_VERSIONS = 1_000

interface Rollout {
  sequence: number
  /** Oldest first. */
  readonly versions: Map<string, number>
}

/** The publications of each Gateway, in order. */
export class Rollouts {
  readonly #gateways = new Map<string, Rollout>()

  published(gateway: string, version: string): void {
    const known = this.#gateways.get(gateway) ?? { sequence: 0, versions: new Map() }
    this.#gateways.set(gateway, known)
    known.sequence++
    // Content that is published again counts as the newest.
    known.versions.delete(version)
    known.versions.set(version, known.sequence)
    const [oldest] = known.versions.keys()
    if (known.versions.size > MAX_VERSIONS && oldest !== undefined) known.versions.delete(oldest)
  }

  withdrawn(gateway: string): void {
    this.#gateways.delete(gateway)
  }

  /** The newest publication; 0 if there is none. */
  latest(gateway: string): number {
    return this.#gateways.get(gateway)?.sequence ?? 0
  }

  /** The publication with this version; 0 if it is unknown here. */
  sequenceOf(gateway: string, version: string): number {
    return this.#gateways.get(gateway)?.versions.get(version) ?? 0
  }
}
