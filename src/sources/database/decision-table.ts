import type pg from 'pg'
import { openPool } from './connection-pool.ts'
import { type Queries, withLock } from './migrations.ts'

/** The fields of a decision record that the table needs. */
export interface StoredDecision {
  readonly id: string
  /** RFC 3339. */
  readonly time: string
}

export interface DecisionTableOptions {
  readonly url: string
  readonly dropped: (records: number) => void
  /** Called when writes start to fail; not called again until a write succeeds. */
  readonly failed: (error: string) => void
  /** The max number of records stored per hour. */
  readonly maxPerHour?: number
}

export interface DecisionSearch {
  readonly id?: string
  readonly since?: string
  readonly until?: string
  /** Text that occurs in the record, in any case. */
  readonly text?: string
  readonly isOldestFirst?: boolean
  readonly limit: number
}

/** Milliseconds that records wait before they are written, and the delay before a retry. */
const INTERVAL = 500
const RETRY = 2_000
/** Milliseconds that a statement or a connection attempt may take. */
const TIMEOUT = 10_000
const SEARCH_TIMEOUT = 3_000
/** The max number of waiting records, and of records per statement. */
const CAPACITY = 5_000
const BATCH = 500
/** Retention in hours, and the max number of records per hour that each replica stores. */
const KEPT_HOURS = 72
const MAX_PER_HOUR = 100_000
const HOUR = 3_600_000

const PARTITION = /^portcullis_decisions_(\d{10})$/

/**
 * Decisions of all replicas, in a table with one partition per hour: old decisions are dropped with
 * their partition. Records wait in a bounded memory queue; requests never wait for the database.
 */
export class DecisionTable<T extends StoredDecision> {
  readonly #options: DecisionTableOptions
  readonly #pool: pg.Pool
  #waiting: T[] = []
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined
  #hour = 0
  #ofHour = 0
  #isFailing = false
  #isClosed = false

  constructor(options: DecisionTableOptions) {
    this.#options = options
    // A separate pool, so that configuration changes do not wait for records.
    this.#pool = openPool({
      connectionString: options.url,
      max: 2,
      connectionTimeoutMillis: TIMEOUT,
      statement_timeout: TIMEOUT,
      query_timeout: TIMEOUT,
      idleTimeoutMillis: 30_000,
      application_name: 'portcullis decisions',
    })
  }

  write(record: T): void {
    if (this.#isClosed || this.#waiting.length >= CAPACITY) {
      this.#options.dropped(1)
      return
    }
    this.#waiting.push(record)
    this.#timer ??= setTimeout(() => this.#start(), INTERVAL).unref()
  }

  /** Newest first; undefined if the database does not respond in time. */
  async find(search: DecisionSearch): Promise<readonly T[] | undefined> {
    const { id, since, until, text, isOldestFirst = false, limit } = search
    const order = isOldestFirst ? 'asc' : 'desc'
    try {
      const { rows } = await this.#pool.query({
        text: `select record from portcullis_decisions
               where ($1::text is null or id = $1) and ($2::timestamptz is null or time >= $2)
                 and ($3::timestamptz is null or time <= $3)
                 and ($4::text is null or record::text ilike $4)
               order by time ${order} limit $5`,
        values: [id ?? null, since ?? null, until ?? null, patternOf(text), limit],
        query_timeout: SEARCH_TIMEOUT,
      } as pg.QueryConfig)
      return rows.map(({ record }) => record as T)
    } catch {
      return undefined
    }
  }

  /** Waiting records are written unless the last write failed. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#writing
    if (!this.#isFailing && this.#waiting.length > 0) await this.#write()
    await this.#pool.end().catch(() => {})
  }

  #start(): void {
    this.#timer = undefined
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined
      if (this.#waiting.length === 0 || this.#isClosed) return
      this.#timer = setTimeout(() => this.#start(), this.#isFailing ? RETRY : INTERVAL).unref()
    })
  }

  async #write(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        await this.#turnHour()
        const batch = this.#admitted(this.#waiting.slice(0, BATCH))
        if (batch.length > 0) {
          await this.#pool.query(
            `insert into portcullis_decisions (time, id, record)
             select * from unnest($1::timestamptz[], $2::text[], $3::json[])`,
            [
              // Clamped to the current hour: the clocks of workers may differ slightly.
              batch.map(({ time }) => this.#timeWithin(time)),
              batch.map(({ id }) => id),
              batch.map((record) => JSON.stringify(record)),
            ],
          )
        }
        this.#ofHour += batch.length
        this.#waiting = this.#waiting.slice(BATCH)
      }
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing) this.#options.failed(error instanceof Error ? error.message : 'failed')
      this.#isFailing = true
    }
  }

  #admitted(records: readonly T[]): readonly T[] {
    const { maxPerHour = MAX_PER_HOUR } = this.#options
    const room = Math.max(0, maxPerHour - this.#ofHour)
    if (records.length > room) this.#options.dropped(records.length - room)
    return records.slice(0, room)
  }

  #timeWithin(time: string): Date {
    const at = Date.parse(time)
    return new Date(Math.min(Math.max(at, this.#hour), this.#hour + HOUR - 1))
  }

  /** Creates the partition of each new hour and drops expired ones. */
  async #turnHour(): Promise<void> {
    const hour = Math.floor(Date.now() / HOUR) * HOUR
    if (hour === this.#hour) return
    const client = await this.#pool.connect()
    try {
      await withLock(client as Queries, 'decisions', async () => {
        const [from, to] = [hour, hour + HOUR].map((at) => new Date(at).toISOString())
        await client.query(
          `create table if not exists ${partitionOf(hour)} partition of portcullis_decisions
           for values from ('${from}') to ('${to}')`,
        )
        const { rows } = await client.query(
          `select inhrelid::regclass::text as name from pg_inherits
           where inhparent = 'portcullis_decisions'::regclass`,
        )
        const oldest = partitionOf(hour - KEPT_HOURS * HOUR)
        for (const { name } of rows as readonly { readonly name: string }[]) {
          // Names have the same length, so they sort by time.
          if (PARTITION.test(name) && name < oldest) await client.query(`drop table ${name}`)
        }
      })
      client.release()
    } catch (error) {
      client.release(true)
      throw error
    }
    this.#hour = hour
    this.#ofHour = 0
  }
}

/** The text as it is written in JSON. A `%` of it is not a wildcard. */
function patternOf(text: string | undefined): string | null {
  if (text === undefined) return null
  const written = JSON.stringify(text).slice(1, -1)
  return `%${written.replace(/[\\%_]/g, '\\$&')}%`
}

/** `portcullis_decisions_2026111617` */
function partitionOf(hour: number): string {
  return `portcullis_decisions_${new Date(hour).toISOString().replace(/\D/g, '').slice(0, 10)}`
}
