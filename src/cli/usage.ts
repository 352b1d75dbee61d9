import { randomUUID } from 'node:crypto'
import type { Model } from '../model/model.ts'
import type { Settings } from '../model/settings.ts'
import type { UsageTable } from '../sources/database/usage-table.ts'
import type { Logger } from '../telemetry/log.ts'
import { UsageHistory, type UsageRow, usageBySteps } from '../telemetry/usage-history.ts'
import type { Fleet } from './fleet.ts'

/** Milliseconds between samples of the counters, and between attempts to write. */
const INTERVAL = 20_000
/** The max number of rows per statement, and per response. */
const BATCH = 1_000
const MAX_POINTS = 20_000

export interface UsageSearch {
  /** Milliseconds since 1970. */
  readonly since: number
  /** Milliseconds. */
  readonly step: number
}

export interface FoundUsage {
  /** `database`: of all replicas. `memory`: of this gateway since it started. */
  readonly from: 'database' | 'memory'
  readonly points: readonly UsageRow[]
}

/** The usage and cost of model calls over time. */
export interface UsageLog {
  find(search: UsageSearch): Promise<FoundUsage>
  /** Called before the serving processes stop, because their counters are lost with them. */
  sample(): Promise<void>
  close(): Promise<void>
}

/** In the database if there is one, otherwise in memory; requests are not involved. */
export async function openUsage(
  { database }: Settings,
  { readMetrics }: Pick<Fleet, 'readMetrics'>,
  served: () => Model | undefined,
  log: Logger,
): Promise<UsageLog> {
  const history = new UsageHistory()
  const table = database && (await openTable(database.url.secret.trim()))
  let isFailing = false
  const sample = async () => {
    // The counters of a gateway without models are not read.
    const servesModels = served()?.backends.some(({ kind }) => kind === 'ai')
    if (servesModels) history.sample(await readMetrics(), Date.now())
  }
  let writing: Promise<void> | undefined
  const writeAll = async () => {
    for (;;) {
      const { rows, written } = history.unwritten(BATCH)
      if (table === undefined || rows.length === 0) return
      await table.write(rows)
      written()
      if (rows.length < BATCH) return
    }
  }
  /** Runs one write at a time; rows that fail are retried with the next one. */
  const write = (): Promise<void> => {
    writing ??= writeAll()
      .then(() => {
        isFailing = false
      })
      .catch((error: unknown) => {
        if (!isFailing) log.warn('usage', { error: 'cannot store usage', detail: String(error) })
        isFailing = true
      })
      .finally(() => {
        writing = undefined
      })
    return writing
  }
  const timer = setInterval(() => void sample().then(write, () => {}), INTERVAL).unref()
  return {
    find: async ({ since, step }) => {
      await sample()
      if (table !== undefined) {
        // The result must include what was counted most recently.
        await Promise.race([write(), pause(WRITE_TIMEOUT_MS)])
        try {
          return { from: 'database', points: await table.find(since, step, MAX_POINTS) }
        } catch {
          // The data of this process is better than nothing.
        }
      }
      const points = usageBySteps(history.since(since), step).slice(-MAX_POINTS)
      return { from: 'memory', points }
    },
    sample,
    close: async () => {
      clearInterval(timer)
      // Includes what a single-process gateway counted while it drained.
      await sample()
      if (!isFailing) await Promise.race([write(), pause(WRITE_TIMEOUT_MS)])
      await table?.close()
    },
  }
}

/** Milliseconds that a search or a shutdown waits for pending writes. */
const WRITE_TIMEOUT_MS = 2_000

function pause(milliseconds: number): Promise<void> {
  return new Promise((done) => setTimeout(done, milliseconds).unref())
}

/** Loaded only if a database is configured. */
async function openTable(url: string): Promise<UsageTable> {
  const { UsageTable: Table } = await import('../sources/database/usage-table.ts')
  return new Table({ url, replica: randomUUID() })
}
