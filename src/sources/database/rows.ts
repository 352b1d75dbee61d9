import type { JsonValue } from '../../model/json.ts'
import type { StoredEdit } from './field-origins.ts'
import type { StoredResource } from './merge.ts'
import type { Queries } from './migrations.ts'
import { isResourceKind, type ResourceKind } from './resource-kinds.ts'
import { keyOf } from './resources.ts'
import type { Sealing } from './sealing.ts'
import { openValue } from './secrets.ts'

/** A row as stored in the database; secrets are encrypted. */
export interface SealedRow {
  readonly kind: string
  readonly id: string
  readonly state: 'set' | 'hidden' | 'reset'
  readonly value: JsonValue
  readonly base: JsonValue
  /** bigint is returned as a string. */
  readonly revision: string
  readonly created: string
  readonly author: string
  readonly time: string
}

/** `reset`: the edit is removed, and the resource has the value of the baseline. */
export interface NewRow {
  readonly kind: ResourceKind
  readonly id: string
  readonly state: 'set' | 'hidden' | 'reset'
  readonly value: JsonValue
  readonly base: JsonValue
}

export interface ChangeBy {
  readonly author: string
  readonly action: string
  readonly comment: string
}

const TIME = `to_char(c.time at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as time`
const OWN_COLUMNS = 'r.kind, r.id, r.state, r.value, r.base, r.revision, r.created'
const COLUMNS = `${OWN_COLUMNS}, c.author, ${TIME}`

/** All rows, or only those that changed. */
export interface Snapshot {
  readonly revision: number
  /** The time of the newest change: two databases may use one revision for different changes. */
  readonly mark: string
  readonly rows: readonly SealedRow[]
}

/** Must be called in a transaction with a consistent snapshot. */
export async function readRows(client: Queries): Promise<Snapshot> {
  const text = `select revision, ${TIME} from portcullis_changes c order by revision desc limit 1`
  const [newest] = (await client.query(text)).rows as readonly Marked[]
  // One change may store thousands of rows; formatting its time is the slowest part, so it is
  // formatted once.
  const { rows } = await client.query(
    `with changes as materialized (
       select c.revision, c.author, ${TIME} from portcullis_changes c
       where exists (select from portcullis_resources r where r.revision = c.revision)
     )
     select ${OWN_COLUMNS}, c.author, c.time
     from portcullis_resources r join changes c using (revision)`,
  )
  const revision = Number(newest?.revision ?? 0)
  return { revision, mark: newest?.time ?? '', rows: rows as readonly SealedRow[] }
}

interface Marked {
  readonly revision: string
  readonly time: string
}

/**
 * Returns only the rows that changed since the known revision, including removed ones (`reset`).
 * Undefined if the database does not have that revision, or has a different one under the same
 * number: after a failover, the last changes may be missing. Uses one statement, which sees one
 * snapshot: replicas run it for every change and wait for each round trip.
 */
export async function readRowsSince(
  client: Queries,
  { revision, mark }: Pick<Snapshot, 'revision' | 'mark'>,
): Promise<Snapshot | undefined> {
  if (revision <= 0) return undefined
  const { rows } = await client.query(
    `select newest.revision as newest, newest.time as mark, known.time as known, changed.*
     from (select c.revision, ${TIME} from portcullis_changes c
           order by c.revision desc limit 1) as newest
     left join (select ${TIME} from portcullis_changes c where c.revision = $1) as known on true
     left join (select distinct on (r.kind, r.id) ${COLUMNS}
                from portcullis_history r join portcullis_changes c using (revision)
                where r.revision > $1 order by r.kind, r.id, r.revision desc) as changed on true`,
    [revision],
  )
  const [first] = rows as readonly SinceRow[]
  if (first === undefined || first.known !== mark) return undefined
  return {
    revision: Number(first.newest),
    mark: first.mark,
    rows: (rows as readonly SinceRow[]).flatMap(({ newest: _, mark: __, known: ___, ...row }) =>
      row.kind === null ? [] : [row as SealedRow],
    ),
  }
}

interface SinceRow extends Omit<SealedRow, 'kind'> {
  readonly newest: string
  readonly mark: string
  readonly known: string | null
  readonly kind: string | null
}

/** Inserts a change with its rows, within a transaction; returns the rows as they are read back. */
export async function insertChange(
  client: Queries,
  revision: number,
  rows: readonly NewRow[],
  { action, author, comment }: ChangeBy,
): Promise<Snapshot> {
  // The notification is delivered only if the transaction commits.
  const change = await client.query(
    `insert into portcullis_changes as c (revision, action, author, comment)
     values ($1, $2, $3, $4) returning ${TIME}, pg_notify('portcullis_changes', $5)`,
    [revision, action, author, comment, String(revision)],
  )
  const [{ time }] = change.rows as [Marked]
  const stored: SealedRow[] = []
  for (const { kind, id, state, value, base } of rows) {
    const text = state === 'reset' ? RESET : SET
    const values = [kind, id, revision, state, json(value), json(base)]
    const [row] = (await client.query(text, values)).rows as readonly Pick<SealedRow, 'created'>[]
    const created = row?.created ?? String(revision)
    stored.push({ kind, id, state, value, base, created, revision: String(revision), author, time })
  }
  return { revision, mark: time, rows: stored }
}

const INTO_HISTORY = `insert into portcullis_history (kind, id, revision, state, value, base, created)
  select $1::text, $2::text, $3::bigint, $4::text, $5::json, $6::json`

const SET = `with kept as (
    insert into portcullis_resources (kind, id, revision, state, value, base, created)
    values ($1::text, $2::text, $3::bigint, $4::text, $5::json, $6::json, $3::bigint)
    on conflict (kind, id) do update set revision = excluded.revision, state = excluded.state,
      value = excluded.value, base = excluded.base
    returning created
  ) ${INTO_HISTORY}, created from kept returning created`

const RESET = `with gone as (
    delete from portcullis_resources where kind = $1::text and id = $2::text returning created
  ) ${INTO_HISTORY}, coalesce((select created from gone), $3::bigint) returning created`

export function json(value: JsonValue): string | null {
  return value === null ? null : JSON.stringify(value)
}

/** The rows that were stored when the revision was the newest. */
export async function readRowsAt(client: Queries, revision: number): Promise<readonly SealedRow[]> {
  const { rows } = await client.query(
    `select * from (
       select distinct on (r.kind, r.id) ${COLUMNS}
       from portcullis_history r join portcullis_changes c using (revision)
       where r.revision <= $1 order by r.kind, r.id, r.revision desc
     ) as rows where state <> 'reset'`,
    [revision],
  )
  return rows as readonly SealedRow[]
}

export function openRows(
  rows: readonly SealedRow[],
  sealing: Sealing | undefined,
): readonly StoredResource[] {
  return rows.flatMap((row) => openRow(row, sealing) ?? [])
}

/** Undefined for a removed row and for kinds that a newer version added. */
export function openRow(row: SealedRow, sealing: Sealing | undefined): StoredResource | undefined {
  const { kind, id, state, author, time } = row
  if (!isResourceKind(kind) || state === 'reset') return undefined
  const open = (value: JsonValue) => openValue(value, keyOf({ kind, id }), sealing)
  return {
    kind,
    id,
    state,
    value: open(row.value),
    base: open(row.base),
    revision: Number(row.revision),
    created: Number(row.created),
    author,
    time,
  }
}

/** One resource in a change, with its value before and after. */
export interface HistoryEntry {
  readonly revision: number
  readonly kind: ResourceKind
  readonly id: string
  readonly action: string
  readonly author: string
  readonly comment: string
  readonly time: string
  readonly state: 'set' | 'hidden' | 'reset'
  readonly before: JsonValue
  readonly after: JsonValue
}

export interface HistoryQuery {
  readonly kind?: string | undefined
  readonly id?: string | undefined
  /** Returns only older changes. */
  readonly before?: number | undefined
  readonly limit: number
}

/** Newest first. */
export async function readHistory(
  client: Queries,
  { kind, id, before, limit }: HistoryQuery,
  sealing: Sealing | undefined,
): Promise<readonly HistoryEntry[]> {
  const { rows } = await client.query(
    `select ${COLUMNS}, c.action, c.comment,
       (select p.value from portcullis_history p
        where p.kind = r.kind and p.id = r.id and p.revision < r.revision
        order by p.revision desc limit 1) as previous
     from portcullis_history r join portcullis_changes c using (revision)
     where ($1::text is null or r.kind = $1) and ($2::text is null or r.id = $2)
       and ($3::bigint is null or r.revision < $3)
     order by r.revision desc, r.kind, r.id limit $4`,
    [kind ?? null, id ?? null, before ?? null, limit],
  )
  return (rows as readonly HistoryRow[]).flatMap((row) => {
    if (!isResourceKind(row.kind)) return []
    const own = { kind: row.kind, id: row.id }
    const open = (value: JsonValue) => openValue(value, keyOf(own), sealing)
    return {
      ...own,
      revision: Number(row.revision),
      action: row.action,
      author: row.author,
      comment: row.comment,
      time: row.time,
      state: row.state,
      // For a first edit: the value of the baseline.
      before: open(row.previous ?? row.base),
      after: open(row.value),
    }
  })
}

/** Edits of one resource before a revision, newest first. */
export async function readEdits(
  client: Queries,
  own: { readonly kind: ResourceKind; readonly id: string; readonly before: number },
  sealing: Sealing | undefined,
): Promise<readonly StoredEdit[]> {
  const { rows } = await client.query(
    `select ${COLUMNS}, c.comment
     from portcullis_history r join portcullis_changes c using (revision)
     where r.kind = $1 and r.id = $2 and r.revision < $3
     order by r.revision desc limit 50`,
    [own.kind, own.id, own.before],
  )
  const open = (value: JsonValue) => openValue(value, keyOf(own), sealing)
  return (rows as readonly HistoryRow[]).map(({ state, value, base, revision, ...row }) => ({
    state,
    value: open(value),
    base: open(base),
    revision: Number(revision),
    author: row.author,
    time: row.time,
    comment: row.comment,
  }))
}

interface HistoryRow extends SealedRow {
  readonly action: string
  readonly comment: string
  readonly previous: JsonValue
}
