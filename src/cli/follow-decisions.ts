import { setTimeout as pause } from 'node:timers/promises'
import { fetchDecisions } from './admin-client.ts'
import type { Terminal } from './define.ts'
import { painter } from './paint.ts'
import { renderDecisionLine } from './render-decision.ts'

/** Milliseconds between polls. */
const PERIOD = 300
/** Milliseconds by which decisions of one worker may arrive after those of another. */
const LATE = 3000
/** The max that a gateway returns at once: at higher rates, some decisions are missed. */
const MAX_LIMIT = '1000'

interface Following {
  readonly admin: string
  readonly query: URLSearchParams
  readonly json: boolean
}

/** Prints decisions as they are made, oldest first, until the process is stopped. */
export async function followDecisions(
  { admin, query, json }: Following,
  { out, err, colour, environment }: Terminal,
): Promise<number> {
  const paint = painter(colour)
  /** The decisions already shown, with their times. */
  const shown = new Map<string, string>()
  let isAway = false
  for (let first = true; ; first = false) {
    const found = await fetchDecisions(admin, `/api/decisions?${query}`, environment)
    if (typeof found === 'string') {
      // Waits for a gateway that restarts, but not for one that was never reachable.
      if (first) {
        err(`portcullis why: ${found}\n`)
        return 1
      }
      if (!isAway) err(`portcullis why: ${found}; trying again\n`)
      isAway = true
    } else {
      isAway = false
      for (const record of found.toReversed()) {
        const { id, kind, stage, provider, time } = record
        const key = JSON.stringify([id, kind, stage, provider])
        if (shown.has(key)) continue
        shown.set(key, time)
        out(`${json ? JSON.stringify(record) : renderDecisionLine(record, paint)}\n`)
      }
      const latest = Math.max(0, ...Array.from(shown.values(), Date.parse))
      const since = new Date(latest - LATE).toISOString()
      for (const [key, time] of shown) if (time < since) shown.delete(key)
      if (latest > 0) query.set('since', since)
      query.set('limit', MAX_LIMIT)
    }
    await pause(PERIOD)
  }
}
