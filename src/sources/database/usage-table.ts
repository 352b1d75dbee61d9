import type pg from 'pg'
import { openPool } from './connection-pool.ts'
import { migrate, type Queries, withLock } from './migrations.ts'

/** The usage of one model of one provider within one minute. */
export interface StoredUsage {
  /** Milliseconds since 1970. */
  readonly time: number
  readonly provider: string
  readonly model: string
  readonly requests: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cost: number
}

export interface UsageTableOptions {
  readonly url: string
  /** Identifies one of the replicas that write to the table. */
  readonly replica: string
}

/** Milliseconds that a statement or a connection attempt may take. */
const TIMEOUT = 10_000
const SEARCH_TIMEOUT = 3_000
const DAY = 86_400_000
const KEPT_DAYS = 92
/** The max number of days to remember; no more than these are written at the same time. */
const MAX_DAYS = 4

const PARTITION = /^portcullis_usage_(\d{8})$/

/**
 * The usage of all replicas, in a table with one partition per day: old usage is dropped with its
 * partition. A row holds the usage of one replica in one minute, so that writing it again after a
 * failure with an unknown outcome does not count anything twice.
 */
export class UsageTable {
  readonly #replica: string
  readonly #pool: pg.Pool
  #isMigrated = false
  /** The days that already have partitions. */
  #days = new Set<number>()

  constructor({ url, replica }: UsageTableOptions) {
    this.#replica = replica
    this.#pool = openPool({
      connectionString: url,
      max: 2,
      connectionTimeoutMillis: TIMEOUT,
      statement_timeout: TIMEOUT,
      query_timeout: TIMEOUT,
      idleTimeoutMillis: 30_000,
      application_name: 'portcullis usage',
    })
  }

  async write(rows: readonly StoredUsage[]): Promise<void> {
    if (rows.length === 0) return
    await this.#prepare(new Set(rows.map(({ time }) => dayOf(time))))
    await this.#pool.query(
      `insert into portcullis_usage as known
         (time, replica, provider, model, requests, input_tokens, output_tokens, cost)
       select own.time, $1, own.provider, own.model, own.requests, own.input, own.output, own.cost
       from unnest($2::timestamptz[], $3::text[], $4::text[], $5::float8[], $6::float8[],
                   $7::float8[], $8::float8[])
         as own (time, provider, model, requests, input, output, cost)
       on conflict (time, replica, provider, model) do update
       set requests = excluded.requests, input_tokens = excluded.input_tokens,
           output_tokens = excluded.output_tokens, cost = excluded.cost`,
      [
        this.#replica,
        rows.map(({ time }) => new Date(time)),
        rows.map(({ provider }) => provider),
        rows.map(({ model }) => model),
        rows.map(({ requests }) => requests),
        rows.map(({ inputTokens }) => inputTokens),
        rows.map(({ outputTokens }) => outputTokens),
        rows.map(({ cost }) => cost),
      ],
    )
  }

  /** Usage of all replicas combined, in steps of `step` milliseconds, oldest first. */
  async find(since: number, step: number, max: number): Promise<readonly StoredUsage[]> {
    await this.#prepare(new Set())
    const { rows } = await this.#pool.query({
      text: `select floor(extract(epoch from time) * 1000 / $2::float8) * $2::float8 as time,
                    provider, model, sum(requests) as requests, sum(input_tokens) as "inputTokens",
                    sum(output_tokens) as "outputTokens", sum(cost) as cost
             from portcullis_usage where time >= $1
             group by 1, 2, 3 order by 1 desc, 2 desc, 3 desc limit $3`,
      values: [new Date(since), step, max],
      query_timeout: SEARCH_TIMEOUT,
    } as pg.QueryConfig)
    return (rows as readonly StoredUsage[])
      .map((row) => ({ ...row, time: Number(row.time) }))
      .reverse()
  }

  async close(): Promise<void> {
    await this.#pool.end().catch(() => {})
  }

  async #prepare(days: ReadonlySet<number>): Promise<void> {
    const missing = [...days].filter((day) => !this.#days.has(day))
    if (this.#isMigrated && missing.length === 0) return
    const client = await this.#pool.connect()
    try {
      if (!this.#isMigrated) await migrate(client as Queries)
      this.#isMigrated = true
      if (missing.length > 0) await this.#turn(client, missing)
      client.release()
    } catch (error) {
      client.release(true)
      throw error
    }
  }

  /** Creates the partition of each new day and drops expired ones. */
  async #turn(client: pg.PoolClient, missing: readonly number[]): Promise<void> {
    await withLock(client as Queries, 'usage', async () => {
      for (const day of missing) {
        const [from, to] = [day, day + DAY].map((at) => new Date(at).toISOString())
        await client.query(
          `create table if not exists ${partitionOf(day)} partition of portcullis_usage
           for values from ('${from}') to ('${to}')`,
        )
      }
      const { rows } = await client.query(
        `select inhrelid::regclass::text as name from pg_inherits
         where inhparent = 'portcullis_usage'::regclass`,
      )
      const oldest = partitionOf(dayOf(Date.now()) - KEPT_DAYS * DAY)
      for (const { name } of rows as readonly { readonly name: string }[]) {
        // Names have the same length, so they sort by time.
        if (PARTITION.test(name) && name < oldest) await client.query(`drop table ${name}`)
      }
    })
    this.#days = new Set([...this.#days, ...missing].slice(-MAX_DAYS))
  }
}

function dayOf(time: number): number {
  return Math.floor(time / DAY) * DAY
}

/** `portcullis_usage_20261116` */
function partitionOf(day: number): string {
  return `portcullis_usage_${new Date(day).toISOString().replace(/\D/g, '').slice(0, 8)}`
}
