import type { Cluster } from '../upstream/cluster.ts'

/*
 * How soon providers begin to respond, so that of several that could serve a call the faster one
 * does. What was measured means less and less as time passes: a provider that was slow once is
 * tried again, and need not be asked by anything but calls.
 */

/** Milliseconds after which a measurement counts for a third. */
const FADING = 10_000
/** The share of the newest measurement. */
const NEWEST = 0.3
/** What a failure counts as, in milliseconds: one that fails at once must not seem fast. */
const FAILED = 5_000

interface Measured {
  milliseconds: number
  at: number
}

/** For as long as the cluster lives, over reloads, too. */
const MEASURED = new WeakMap<Cluster, Measured>()

/** Milliseconds to the first byte of a response; of one that failed, -1. */
export function observeLatency(cluster: Cluster, milliseconds: number, now: number): void {
  const known = MEASURED.get(cluster)
  const before = latencyOf(cluster, now)
  const sample = milliseconds < 0 ? Math.max(FAILED, before) : milliseconds
  if (known === undefined) {
    MEASURED.set(cluster, { milliseconds: sample, at: now })
    return
  }
  // What is slower than thought is believed at once, what is faster little by little.
  known.milliseconds = sample > before ? sample : before + (sample - before) * NEWEST
  known.at = now
}

/** Milliseconds, as far as that is known; 0: nothing is, so that it is found out. */
export function latencyOf(cluster: Cluster, now: number): number {
  const known = MEASURED.get(cluster)
  if (known === undefined) return 0
  return known.milliseconds * Math.exp((known.at - now) / FADING)
}
