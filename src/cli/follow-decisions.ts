import { setTimeout as pause } from 'node:timers/promises'
import { askDecisions } from './admin-client.ts'
import type { Terminal } from './define.ts'
import { painter } from './paint.ts'
import { renderDecisionLine } from './render-decision.ts'

/** Milliseconds from one look to the next. */
const PERIOD = 300
/** Milliseconds by which the decisions of one worker may come after those of another. */
const LATE = 3000
/** As many as a gateway gives at once: what is made faster than that is not all seen. */
const MAX_LIMIT = '1000'

interface Following {
  readonly admin: string
  readonly query: URLSearchParams
  readonly json: boolean
}

/** Lists decisions as they are made, the oldest first, until the process is stopped. */
export async function followDecisions(
  { admin, query, json }: Following,
  { out, err, colour, environment }: Terminal,
): Promise<number> {
  const paint = painter(colour)
  /** What was shown, and when it was decided. */
  const shown = new Map<string, string>()
  let isAway = false
  for (let first = true; ; first = false) {
    const found = await askDecisions(admin, `/api/decisions?${query}`, environment)
    if (typeof found === 'string') {
      // A gateway that restarts is waited for; one that was never there is not.
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
