import type pg from 'pg'
import { openPool } from './connection-pool.ts'
import { type Queries, withLock } from './migrations.ts'

/** A record of a decision, as far as the table has to know it. */
export interface StoredDecision {
  readonly id: string
  /** RFC 3339. */
  readonly time: string
}

export interface DecisionTableOptions {
  readonly url: string
  readonly dropped: (records: number) => void
  /** Called when records cannot be stored, and once they can be again. */
  readonly failed: (error: string) => void
  /** How many records of an hour are stored at most. */
  readonly maxPerHour?: number
}

export interface DecisionSearch {
  readonly id?: string
  readonly since?: string
  readonly limit: number
}

/** Milliseconds that records wait at most, that a database which takes none is left alone, … */
const INTERVAL = 500
const RETRY = 2_000
/** … and that anything that is asked of it may take. */
const TIMEOUT = 10_000
const SEARCH_TIMEOUT = 3_000
/** Records that wait at most, and those of one statement. */
const CAPACITY = 5_000
const BATCH = 500
/** How long records are kept, in hours, and how many of an hour each replica stores. */
const KEPT_HOURS = 72
const MAX_PER_HOUR = 100_000
const HOUR = 3_600_000

const PARTITION = /^portcullis_decisions_(\d{10})$/

/**
 * Decisions of all replicas, in a table with a partition for each hour: what is too old is dropped
 * with its partition. Records wait in memory, so many and no more; nobody waits for the database.
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
    // Connections of its own: changes of the configuration do not wait for records.
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

  /** The newest first; an empty list where the database does not say in time. */
  async find({ id, since, limit }: DecisionSearch): Promise<readonly T[]> {
    try {
      const { rows } = await this.#pool.query({
        text: `select record from portcullis_decisions
               where ($1::text is null or id = $1) and ($2::timestamptz is null or time >= $2)
               order by time desc limit $3`,
        values: [id ?? null, since ?? null, limit],
        query_timeout: SEARCH_TIMEOUT,
      } as pg.QueryConfig)
      return rows.map(({ record }) => record as T)
    } catch {
      return []
    }
  }

  /** What waits is written if the database takes it at once. */
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
              // Of the hour that it is stored in: clocks of workers may be a little apart.
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

  /** With each hour a partition begins, and those that are too old go. */
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
          // Names of one length are in the order of their times.
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

/** `portcullis_decisions_2026111617` */
function partitionOf(hour: number): string {
  return `portcullis_decisions_${new Date(hour).toISOString().replace(/\D/g, '').slice(0, 10)}`
}
