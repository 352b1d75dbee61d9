import type { Queries } from './migrations.ts'

/** Revoked sessions by key; times are seconds since 1970. */
export interface RevokedRow {
  readonly keys: readonly string[]
  readonly before: number
  readonly until: number
}

/** Rows that are read again, in case some were stored after rows with a higher id. */
const OVERLAP = 1_000
const MAX_ROWS = 10_000

/** Sessions revoked before they expire, shared by all replicas. */
export class RevokedRows {
  readonly #queries: Queries
  readonly #wake: () => void
  #listener: ((revoked: readonly RevokedRow[]) => void) | undefined
  #last = 0
  readonly #known = new Set<number>()

  /** `wake`: triggers a read of the database. */
  constructor(queries: Queries, wake: () => void) {
    this.#queries = queries
    this.#wake = wake
  }

  /** Revokes the sessions of these keys issued until `before`; times are seconds since 1970. */
  async add(keys: readonly string[], before: number | undefined, until: number): Promise<void> {
    await this.#queries.query(
      `with over as (delete from portcullis_revoked_sessions where until < extract(epoch from now())),
            added as (insert into portcullis_revoked_sessions (key, before, until)
                      select key, $2, $3 from unnest($1::text[]) as key returning id)
       select pg_notify('portcullis_changes', 'revoked') from added limit 1`,
      [keys, before ?? Number.MAX_SAFE_INTEGER, until],
    )
  }

  /** Called with all sessions that any replica revokes, starting with those already revoked. */
  onAdded(listener: (revoked: readonly RevokedRow[]) => void): void {
    this.#listener = listener
    this.#wake()
  }

  async look(client: Queries): Promise<void> {
    if (this.#listener === undefined) return
    const { rows } = await client.query(
      `select id, key, before, until from portcullis_revoked_sessions
       where id > $1 and until >= extract(epoch from now()) order by id limit ${MAX_ROWS}`,
      // Ids are assigned before commit, so a lower id may appear later.
      [this.#last - OVERLAP],
    )
    const all = rows as readonly Readonly<Record<'id' | 'key' | 'before' | 'until', string>>[]
    const fresh = all.filter(({ id }) => !this.#known.has(Number(id)))
    if (fresh.length === 0) return
    this.#last = Number(all.at(-1)?.id ?? this.#last)
    for (const { id } of fresh) this.#known.add(Number(id))
    for (const id of this.#known) {
      if (id <= this.#last - OVERLAP) this.#known.delete(id)
    }
    this.#listener(
      fresh.map(({ key, before, until }) => ({
        keys: [key],
        before: Number(before),
        until: Number(until),
      })),
    )
    if (all.length === MAX_ROWS) this.#wake()
  }

  /** `issued`: seconds since 1970. */
  async has(keys: readonly string[], issued: number): Promise<boolean> {
    const { rows } = await this.#queries.query(
      'select 1 from portcullis_revoked_sessions where key = any($1) and before >= $2 limit 1',
      [keys, issued],
    )
    return rows.length > 0
  }
}
