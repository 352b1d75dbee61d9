import { createHash } from 'node:crypto'
import type pg from 'pg'
import type {
  BudgetPlace,
  BudgetStore,
  BudgetTake,
  BudgetUse,
  Shortage,
} from '../exchange/budget-store.ts'
import { openPool } from '../sources/database/connection-pool.ts'
import { migrate } from '../sources/database/migrations.ts'

/** Milliseconds. A model call waits at most this long, then its client gets 503. */
const TIMEOUTS = { connect: 1_500, statement: 1_500, query: 1_800, idle: 30_000 } as const
/** Milliseconds between attempts to write settled amounts, and between cleanups. */
const RETRY = 1_000
const CLEANING = 3_600_000
/** Milliseconds for which ended periods can still be settled. */
const GRACE = 24 * 3_600_000
/** Milliseconds that shutdown waits for settled amounts to be written. */
const LAST_WRITE = 3_000

export interface DatabaseBudgetsOptions {
  readonly url: string
  readonly maxConnections: number
  /** Called with the error when the database starts to fail, once per outage. */
  readonly failed: (error: string) => void
}

/**
 * The usage of budgets in PostgreSQL, shared by all replicas. A reservation is one statement that
 * adds an amount only if it fits, so that neither replicas nor a crash can exceed a budget: the
 * reservations of a crashed replica remain. Unused amounts are given back afterwards.
 */
export class DatabaseBudgets implements BudgetStore {
  readonly #options: DatabaseBudgetsOptions
  readonly #pool: pg.Pool
  #prepared: Promise<void> | undefined
  #isFailing = false
  /** Amounts to be added to accounts. */
  #settled = new Map<string, number>()
  #writing: Promise<void> | undefined
  #retry: NodeJS.Timeout | undefined
  #cleanedAt = 0

  constructor(options: DatabaseBudgetsOptions) {
    this.#options = options
    this.#pool = openPool({
      connectionString: options.url,
      connectionTimeoutMillis: TIMEOUTS.connect,
      statement_timeout: TIMEOUTS.statement,
      query_timeout: TIMEOUTS.query,
      idleTimeoutMillis: TIMEOUTS.idle,
      max: options.maxConnections,
      keepAlive: true,
      application_name: 'portcullis budgets',
    })
  }

  async take(asked: BudgetTake): Promise<Shortage | undefined> {
    const { budget, ends, amount, capacity } = asked
    try {
      await this.#prepare()
      const { rows } = await this.#pool.query(
        `insert into portcullis_budgets as known (account, used, ends, budget)
         values ($1, $2, $3, $5)
         on conflict (account) do update set used = known.used + excluded.used
         where known.used + excluded.used <= $4
         returning used`,
        [accountOf(asked), amount, ends, capacity, digest(budget)],
      )
      this.#isFailing = false
      void this.#clean()
      return rows.length === 0 ? 'used-up' : undefined
    } catch (error) {
      this.#fail(error)
      return 'owner-away'
    }
  }

  charge(place: BudgetPlace, amount: number): void {
    const account = accountOf(place)
    this.#settled.set(account, (this.#settled.get(account) ?? 0) + amount)
    void this.#write()
  }

  async use(budget: string, now: number): Promise<BudgetUse> {
    await this.#prepare()
    const { rows } = await this.#pool.query(
      `select count(*)::int as callers, coalesce(sum(used), 0)::float8 as used,
              coalesce(max(used), 0)::float8 as "maxUsed"
       from portcullis_budgets where budget = $1 and ends > $2 and used > 0`,
      [digest(budget), now],
    )
    return rows[0] as BudgetUse
  }

  async close(): Promise<void> {
    clearTimeout(this.#retry)
    const late = new Promise<void>((done) => setTimeout(done, LAST_WRITE).unref())
    await Promise.race([this.#write(), late])
    await this.#pool.end().catch(() => {})
  }

  #prepare(): Promise<void> {
    this.#prepared ??= this.#migrate().catch((error) => {
      this.#prepared = undefined
      throw error
    })
    return this.#prepared
  }

  async #migrate(): Promise<void> {
    const client = await this.#pool.connect()
    try {
      await migrate(client)
    } finally {
      client.release()
    }
  }

  /** Writes all settled amounts in one statement; failed writes are retried. */
  #write(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined
    })
    return this.#writing
  }

  async #writeAll(): Promise<void> {
    while (this.#settled.size > 0) {
      const settled = this.#settled
      this.#settled = new Map()
      try {
        await this.#prepare()
        await this.#pool.query(
          `update portcullis_budgets as known set used = greatest(0, known.used + own.amount)
           from unnest($1::text[], $2::bigint[]) as own (account, amount)
           where known.account = own.account`,
          [[...settled.keys()], [...settled.values()]],
        )
      } catch (error) {
        this.#fail(error)
        for (const [account, amount] of settled) {
          this.#settled.set(account, (this.#settled.get(account) ?? 0) + amount)
        }
        clearTimeout(this.#retry)
        this.#retry = setTimeout(() => void this.#write(), RETRY).unref()
        return
      }
    }
  }

  async #clean(): Promise<void> {
    const now = Date.now()
    if (now < this.#cleanedAt + CLEANING) return
    this.#cleanedAt = now
    const text = 'delete from portcullis_budgets where ends < $1'
    await this.#pool.query(text, [now - GRACE]).catch(() => {})
  }

  #fail(error: unknown): void {
    if (!this.#isFailing) this.#options.failed(String(error))
    this.#isFailing = true
  }
}

/** A digest, so that the table reveals nothing about callers. */
function accountOf({ budget, key, ends }: BudgetPlace): string {
  return digest(`${budget}\n${ends}\n${key}`)
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
