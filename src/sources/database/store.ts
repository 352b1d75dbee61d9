import pg from 'pg'
import type { JsonValue } from '../../model/json.ts'
import { ChangeFeed, type FeedEvents } from './change-feed.ts'
import { openPool } from './connection-pool.ts'
import { connectionProblem } from './connection-problem.ts'
import type { StoredEdit } from './field-origins.ts'
import type { StoredResource } from './merge.ts'
import { beginLocked, type Queries } from './migrations.ts'
import { keyOf } from './resources.ts'
import { RevokedRows } from './revoked-rows.ts'
import {
  type ChangeBy,
  type HistoryEntry,
  type HistoryQuery,
  insertChange,
  json,
  type NewRow,
  openRow,
  openRows,
  readEdits,
  readHistory,
  readRows,
  readRowsAt,
  readRowsSince,
  type SealedRow,
  type Snapshot,
} from './rows.ts'
import type { Sealing } from './sealing.ts'
import { isOutdated, openValue, SealedError, sealValue } from './secrets.ts'
import type { StateFile } from './state-file.ts'

export interface StoreOptions {
  readonly url: string
  readonly maxConnections: number
  readonly sealing: Sealing | undefined
  /** Keeps the last rows across a restart. */
  readonly stateFile?: StateFile | undefined
  readonly events: StoreEvents
}

export interface StoreEvents extends FeedEvents {
  /** The stored configuration has changed, or is known for the first time. */
  readonly changed: () => void
}

/** The status of a store. */
export interface StoreState {
  readonly revision: number
  readonly isConnected: boolean
  /** The reason why it is not connected or why the stored rows cannot be read. */
  readonly problem: string | undefined
}

export type Planned<F> = { readonly rows: readonly NewRow[] } | { readonly failure: F }

export type ChangeOutcome<F> =
  | { readonly kind: 'stored'; readonly revision: number }
  | { readonly kind: 'failed'; readonly failure: F }
  | { readonly kind: 'no-key' }
  /** `isUnknown`: the connection was lost during commit, so the change may have been stored. */
  | { readonly kind: 'unavailable'; readonly detail: string; readonly isUnknown: boolean }

/** Milliseconds. A replica that cannot acquire the lock fails instead of blocking its caller. */
const TIMEOUTS = { connect: 5_000, statement: 15_000, query: 20_000, idle: 30_000 } as const

/** The edits of a configuration, stored in PostgreSQL. */
export class Store {
  readonly #options: StoreOptions
  readonly #pool: pg.Pool
  readonly #feed: ChangeFeed
  /** By kind and id: `#rows` as stored, for the state file; `#opened` decrypted. */
  #rows: ReadonlyMap<string, SealedRow> = new Map()
  #opened: Opened = new Map()
  #stored: readonly StoredResource[] = []
  #revision = -1
  #mark = ''
  #problem: string | undefined
  readonly #known = Promise.withResolvers<void>()
  readonly #revoked: RevokedRows

  constructor(options: StoreOptions) {
    this.#options = options
    const { url: connectionString, maxConnections, events } = options
    const connection = {
      connectionString,
      connectionTimeoutMillis: TIMEOUTS.connect,
      statement_timeout: TIMEOUTS.statement,
      query_timeout: TIMEOUTS.query,
      keepAlive: true,
      application_name: 'portcullis',
    }
    this.#pool = openPool({
      ...connection,
      max: maxConnections,
      idleTimeoutMillis: TIMEOUTS.idle,
    })
    this.#revoked = new RevokedRows(this.#pool as Queries, () => this.#feed.wake())
    this.#feed = new ChangeFeed({
      connect: () => new pg.Client(connection),
      read: (client, isWhole) => this.#read(client as Queries, isWhole),
      look: (client) => this.#revoked.look(client as Queries),
      events: {
        connected: events.connected,
        lost: (error, retryIn) => {
          // From now on the file may be the only copy.
          this.#options.stateFile?.flush()
          this.#useStateFile()
          events.lost(error, retryIn)
        },
      },
    })
  }

  /** Resolves when the stored configuration is known, from the database or from the state file. */
  get known(): Promise<void> {
    return this.#known.promise
  }

  /** Whether `stored` is what was stored, and not just empty so far. */
  get isKnown(): boolean {
    return this.#revision >= 0
  }

  get stored(): readonly StoredResource[] {
    return this.#stored
  }

  get state(): StoreState {
    const { isConnected, problem } = this.#feed
    return {
      revision: Math.max(this.#revision, 0),
      isConnected,
      problem: this.#problem ?? problem,
    }
  }

  /** Follows the database until closed. */
  start(): void {
    void this.#feed.run()
  }

  async close(): Promise<void> {
    await this.#feed.close()
    this.#options.stateFile?.flush()
    await this.#pool.end().catch(() => {})
  }

  /**
   * Stores one change atomically. `plan` sees the stored configuration, and no other replica can
   * store anything until its rows are committed, so its checks stay valid.
   */
  async change<F>(
    plan: (stored: readonly StoredResource[]) => Promise<Planned<F>>,
    by: ChangeBy,
  ): Promise<ChangeOutcome<F>> {
    let client: pg.PoolClient
    try {
      client = await this.#pool.connect()
    } catch (error) {
      return unavailable(error, false)
    }
    let isCommitting = false
    try {
      await beginLocked(client, 'write')
      const { revision, stored, since } = await this.#storedNow(client)
      const planned = await plan(stored)
      const sealed = 'rows' in planned ? this.#sealed(planned.rows) : undefined
      if (sealed === undefined || sealed === 'no-key' || 'failure' in planned) {
        await client.query('rollback')
        client.release()
        if ('failure' in planned) return { kind: 'failed', failure: planned.failure }
        return { kind: 'no-key' }
      }
      const next = await insertChange(client, revision + 1, sealed, by)
      isCommitting = true
      await client.query('commit')
      if (since === undefined) await this.#refresh(client)
      else {
        this.#takeSince({ ...next, rows: [...since.rows, ...next.rows] })
        client.release()
      }
      return { kind: 'stored', revision: next.revision }
    } catch (error) {
      // The state of the connection is unknown: closing it also ends its transaction.
      client.release(true)
      return unavailable(error, isCommitting)
    }
  }

  history(query: HistoryQuery): Promise<readonly HistoryEntry[]> {
    return readHistory(this.#pool as Queries, query, this.#options.sealing)
  }

  /** Edits of one resource before a revision, newest first, one page at a time. */
  edits(
    { kind, id }: Pick<StoredResource, 'kind' | 'id'>,
    before: number,
  ): Promise<readonly StoredEdit[]> {
    return readEdits(this.#pool as Queries, { kind, id, before }, this.#options.sealing)
  }

  /** The resources stored at a revision; undefined if there was no such revision. */
  async at(revision: number): Promise<readonly StoredResource[] | undefined> {
    const client = this.#pool as Queries
    const { rows } = await client.query(
      'select 1 from portcullis_changes where revision = $1 union select 1 where $1 = 0',
      [revision],
    )
    if (rows.length === 0) return undefined
    return openRows(await readRowsAt(client, revision), this.#options.sealing)
  }

  /** Sessions that any replica revoked before they expire. */
  get revocations(): RevokedRows {
    return this.#revoked
  }

  /** Re-encrypts values of older keys with the newest key; returns the number of values. */
  async rotate(): Promise<number> {
    const { sealing } = this.#options
    if (sealing === undefined) return 0
    const client = await this.#pool.connect()
    try {
      await beginLocked(client, 'write')
      let count = 0
      for (const table of ['portcullis_resources', 'portcullis_history']) {
        const { rows } = await client.query(`select * from ${table}`)
        for (const row of rows as readonly (NewRow & { readonly revision: string })[]) {
          if (!isOutdated([row.value, row.base], sealing)) continue
          const again = (value: JsonValue) =>
            sealValue(row.kind, openValue(value, keyOf(row), sealing), keyOf(row), sealing)
          await client.query(
            `update ${table} set value = $1, base = $2 where kind = $3 and id = $4 and revision = $5`,
            [json(again(row.value)), json(again(row.base)), row.kind, row.id, row.revision],
          )
          count++
        }
      }
      await client.query('commit')
      client.release()
      return count
    } catch (error) {
      client.release(true)
      throw error
    }
  }

  #sealed(rows: readonly NewRow[]): readonly NewRow[] | 'no-key' {
    const { sealing } = this.#options
    const sealed: NewRow[] = []
    for (const row of rows) {
      const [value, base] = [row.value, row.base].map((one) =>
        sealValue(row.kind, one, keyOf(row), sealing),
      )
      if (value === 'no-key' || base === 'no-key') return 'no-key'
      sealed.push({ ...row, value: value ?? null, base: base ?? null })
    }
    return sealed
  }

  /** The state that a writer builds on: the known state plus later changes of other replicas. */
  async #storedNow(client: Queries) {
    const known = { revision: this.#revision, mark: this.#mark, opened: this.#opened }
    const stored = this.#stored
    const since = await readRowsSince(client, known)
    if (since === undefined) {
      const { revision, rows } = await readRows(client)
      return { revision, stored: openRows(rows, this.#options.sealing), since }
    }
    if (since.rows.length === 0) return { revision: since.revision, stored, since }
    const opened = withRows(known.opened, since.rows, this.#options.sealing)
    return { revision: since.revision, stored: [...opened.values()], since }
  }

  /** Makes a change visible to its author immediately; if this fails, the feed delivers it. */
  async #refresh(client: pg.PoolClient): Promise<void> {
    try {
      await this.#read(client, false)
      client.release()
    } catch {
      client.release(true)
      this.#feed.wake()
    }
  }

  async #read(client: Queries, isWhole: boolean): Promise<void> {
    const known = { revision: this.#revision, mark: this.#mark }
    const changes = isWhole ? undefined : await readRowsSince(client, known)
    if (changes !== undefined) return this.#takeSince(changes)
    await client.query('begin isolation level repeatable read read only')
    const whole = await readRows(client)
    await client.query('commit')
    this.#take(whole, NO_ROWS, NO_RESOURCES)
  }

  /** Another read may have been faster. */
  #takeSince(changes: Snapshot): void {
    if (changes.revision > this.#revision) this.#take(changes, this.#rows, this.#opened)
  }

  /** `rows` and `opened`: the state that the snapshot is based on. */
  #take(
    { revision, mark, rows: changed }: Snapshot,
    rows: ReadonlyMap<string, SealedRow>,
    opened: Opened,
  ): void {
    if (revision === this.#revision && mark === this.#mark) return
    if (!this.#use({ revision, mark, rows: changed }, opened)) return
    const { stateFile } = this.#options
    if (stateFile === undefined) return
    const all = new Map(rows)
    for (const row of changed) {
      if (row.state === 'reset') all.delete(nameOf(row))
      else all.set(nameOf(row), row)
    }
    this.#rows = all
    stateFile.write(() => ({ revision, mark, rows: [...all.values()] }))
  }

  /** False if a secret cannot be decrypted: the known configuration stays in effect. */
  #use({ revision, mark, rows }: Snapshot, opened: Opened): boolean {
    try {
      this.#opened = withRows(opened, rows, this.#options.sealing)
    } catch (error) {
      if (!(error instanceof SealedError)) throw error
      this.#problem = error.message
      return false
    }
    this.#stored = [...this.#opened.values()]
    this.#problem = undefined
    this.#revision = revision
    this.#mark = mark
    this.#known.resolve()
    this.#options.events.changed()
    return true
  }

  #useStateFile(): void {
    if (this.#revision >= 0) return
    const snapshot = this.#options.stateFile?.read()
    if (snapshot === undefined || !this.#use(snapshot, NO_RESOURCES)) return
    this.#rows = new Map(snapshot.rows.map((row) => [nameOf(row), row]))
  }
}

type Opened = ReadonlyMap<string, StoredResource>

const NO_ROWS: ReadonlyMap<string, SealedRow> = new Map()
const NO_RESOURCES: Opened = new Map()

function nameOf({ kind, id }: SealedRow): string {
  return `${kind}/${id}`
}

/** Applies changed rows; unchanged resources stay the same objects. */
function withRows(opened: Opened, rows: readonly SealedRow[], sealing: StoreOptions['sealing']) {
  const all = new Map(opened)
  for (const row of rows) {
    const resource = openRow(row, sealing)
    if (resource === undefined) all.delete(nameOf(row))
    else all.set(nameOf(row), resource)
  }
  return all
}

function unavailable(error: unknown, isUnknown: boolean) {
  return { kind: 'unavailable', detail: connectionProblem(error), isUnknown } as const
}
