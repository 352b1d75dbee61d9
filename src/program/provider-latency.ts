import type { Cluster } from '../upstream/cluster.ts'

/*
 * Measures how soon providers begin to respond, so that the faster of several suitable providers
 * serves a call. Measurements fade over time: a provider that was slow once is tried again, and
 * needs no probes besides calls.
 */

/** Milliseconds after which a measurement counts for a third. */
const FADING = 10_000
/** The weight of the newest measurement. */
const NEWEST = 0.3
/** Milliseconds that a failure counts as: a provider that fails at once must not seem fast. */
const FAILED = 5_000

interface Measured {
  milliseconds: number
  at: number
}

/** Kept as long as the cluster lives, across reloads, too. */
const MEASURED = new WeakMap<Cluster, Measured>()

/** Milliseconds to the first byte of a response; -1 if it failed. */
export function observeLatency(cluster: Cluster, milliseconds: number, now: number): void {
  const known = MEASURED.get(cluster)
  const before = latencyOf(cluster, now)
  const sample = milliseconds < 0 ? Math.max(FAILED, before) : milliseconds
  if (known === undefined) {
    MEASURED.set(cluster, { milliseconds: sample, at: now })
    return
  }
  // A slower sample is adopted at once, a faster one gradually.
  known.milliseconds = sample > before ? sample : before + (sample - before) * NEWEST
  known.at = now
}

/** Estimated milliseconds; 0 if unknown, so that the provider is tried. */
export function latencyOf(cluster: Cluster, now: number): number {
  const known = MEASURED.get(cluster)
  if (known === undefined) return 0
  return known.milliseconds * Math.exp((known.at - now) / FADING)
}
