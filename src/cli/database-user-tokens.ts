import type pg from 'pg'
import { CLAIM_AGE, type StoredToken, type UserTokenStore } from '../exchange/user-token-store.ts'
import { openPool } from '../sources/database/connection-pool.ts'
import { migrate } from '../sources/database/migrations.ts'

/** Milliseconds. A request waits at most this long, then its client gets 503. */
const TIMEOUTS = { connect: 1_500, statement: 1_500, query: 1_800, idle: 30_000 } as const

/**
 * Tokens of users in PostgreSQL, shared by all replicas. Every request reads the token again, so
 * that no replica sends a token that another one removed.
 */
export class DatabaseUserTokens implements UserTokenStore {
  readonly #pool: pg.Pool
  #prepared: Promise<void> | undefined

  constructor(url: string, maxConnections: number) {
    this.#pool = openPool({
      connectionString: url,
      connectionTimeoutMillis: TIMEOUTS.connect,
      statement_timeout: TIMEOUTS.statement,
      query_timeout: TIMEOUTS.query,
      idleTimeoutMillis: TIMEOUTS.idle,
      max: maxConnections,
      keepAlive: true,
      application_name: 'portcullis user tokens',
    })
  }

  async read(key: string): Promise<StoredToken | undefined> {
    const rows = await this.#query(
      'select sealed, version from portcullis_user_tokens where key = $1',
      [key],
    )
    return rows[0] as StoredToken | undefined
  }

  async write(key: string, { sealed, version }: StoredToken): Promise<void> {
    await this.#query(
      `insert into portcullis_user_tokens (key, sealed, version) values ($1, $2, $3)
       on conflict (key) do update
       set sealed = excluded.sealed, version = excluded.version, claimed = null`,
      [key, sealed, version],
    )
  }

  async replace(key: string, before: string, { sealed, version }: StoredToken): Promise<boolean> {
    const rows = await this.#query(
      `update portcullis_user_tokens set sealed = $3, version = $4, claimed = null
       where key = $1 and version = $2 returning 1`,
      [key, before, sealed, version],
    )
    return rows.length > 0
  }

  async claim(key: string, version: string): Promise<boolean> {
    const rows = await this.#query(
      `update portcullis_user_tokens
       set claimed = clock_timestamp() + $3 * interval '1 millisecond'
       where key = $1 and version = $2 and (claimed is null or claimed < clock_timestamp())
       returning 1`,
      [key, version, CLAIM_AGE],
    )
    return rows.length > 0
  }

  async remove(key: string, version?: string): Promise<void> {
    await this.#query(
      'delete from portcullis_user_tokens where key = $1 and ($2::text is null or version = $2)',
      [key, version ?? null],
    )
  }

  async close(): Promise<void> {
    await this.#pool.end().catch(() => {})
  }

  async #query(text: string, values: readonly unknown[]): Promise<readonly unknown[]> {
    await this.#prepare()
    const { rows } = await this.#pool.query(text, [...values])
    return rows
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
}
