import type { Settings } from '../model/settings.ts'
import type { DecisionTable } from '../sources/database/decision-table.ts'
import type { DecisionFile } from '../telemetry/decision-file.ts'
import type { DecisionRecord } from '../telemetry/decision-record.ts'
import { type DecisionQuery, selectDecisions } from '../telemetry/decision-ring.ts'
import { decisionDrops } from '../telemetry/definitions/telemetry.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'

/** The destinations of decision records, regardless of which process decided. */
export interface DecisionSinks {
  write(record: DecisionRecord): void
  /** Counts records that were lost on the way here. */
  dropped(records: number): void
  /** Searches stored records in addition to those in the memory of processes. */
  find(
    query: DecisionQuery,
    remembered: (query: DecisionQuery) => Promise<readonly DecisionRecord[]>,
  ): Promise<readonly DecisionRecord[]>
  close(): Promise<void>
}

type Table = DecisionTable<DecisionRecord>

/** Whether records are sent to the process that reads the configuration. */
export function keepsDecisions({ decisions, storage }: Settings): boolean {
  return decisions.file !== undefined || storage.mode === 'database'
}

export async function openDecisionSinks(
  file: DecisionFile | undefined,
  settings: Settings,
  log: Logger,
  metrics: Metrics,
): Promise<DecisionSinks | undefined> {
  if (!keepsDecisions(settings)) return undefined
  const table = await openTable(settings, log, metrics)
  return {
    write: (record) => {
      file?.write(record)
      table?.write(record)
    },
    dropped: (records) => file?.dropped(records),
    find: async (query, remembered) => {
      const fresh = remembered(query)
      if (table === undefined) return fresh
      const { id, since } = query
      const search = {
        ...(id === undefined ? {} : { id }),
        ...(since === undefined ? {} : { since }),
        limit: MAX_FOUND,
      }
      const all = [...(await fresh), ...(await table.find(search))]
      // Recent decisions are in both.
      const once = new Map(all.map((record) => [JSON.stringify(record), record]))
      return selectDecisions([...once.values()], query)
    },
    close: async () => {
      await file?.close()
      await table?.close()
    },
  }
}

/** Filters are applied to this many of the newest records. */
const MAX_FOUND = 10_000

async function openTable(
  { storage, database }: Settings,
  log: Logger,
  metrics: Metrics,
): Promise<Table | undefined> {
  if (storage.mode !== 'database') return undefined
  const { DecisionTable } = await import('../sources/database/decision-table.ts')
  const drops = metrics.counter(decisionDrops).of({}).at()
  return new DecisionTable<DecisionRecord>({
    url: database?.url.secret.trim() ?? '',
    dropped: (records) => drops.inc(records),
    failed: (error) => log.warn('decisions', { error: 'cannot store records', detail: error }),
  })
}
