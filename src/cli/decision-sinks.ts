import type { Settings } from '../model/settings.ts'
import type { DecisionTable } from '../sources/database/decision-table.ts'
import type { DecisionFile } from '../telemetry/decision-file.ts'
import type { DecisionRecord } from '../telemetry/decision-record.ts'
import {
  type DecisionQuery,
  type FoundDecisions,
  selectDecisions,
} from '../telemetry/decision-ring.ts'
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
    remembered: (query: DecisionQuery) => Promise<FoundDecisions>,
  ): Promise<FoundDecisions>
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
      const stored = await findStored(table, query)
      const { records, incomplete } = await fresh
      // Recent decisions are in both.
      const once = new Map(
        [...records, ...stored.records].map((record) => [JSON.stringify(record), record]),
      )
      return {
        records: selectDecisions([...once.values()], query),
        incomplete: incomplete ?? stored.incomplete,
      }
    },
    close: async () => {
      await file?.close()
      await table?.close()
    },
  }
}

/** Records are read and filtered in pages of this size. */
const PAGE = 10_000
const MAX_PAGES = 20

async function findStored(table: Table, query: DecisionQuery): Promise<FoundDecisions> {
  const { id, since, text, order, limit } = query
  const search = {
    ...(id === undefined ? {} : { id }),
    ...(since === undefined ? {} : { since }),
    ...(text === undefined ? {} : { text }),
    isOldestFirst: order === 'oldest-first',
    limit: PAGE,
  }
  const records: DecisionRecord[] = []
  let { until } = query
  for (let page = 0; page < MAX_PAGES; page++) {
    const found = await table.find(until === undefined ? search : { ...search, until })
    if (found === undefined) return { records, incomplete: 'the database did not respond in time' }
    records.push(...selectDecisions(found, query))
    const last = found.at(-1)?.time
    if (found.length < PAGE || records.length >= limit || order === 'oldest-first') {
      return { records }
    }
    if (last === until) break
    until = last
  }
  return { records, incomplete: `decisions before ${until} were not searched` }
}

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
