import type { JsonValue } from '../../model/json.ts'
import type { StoredResource } from './merge.ts'
import type { Queries } from './migrations.ts'
import { isResourceKind, type ResourceKind } from './resource-kinds.ts'
import { keyOf } from './resources.ts'
import type { Sealing } from './sealing.ts'
import { openValue } from './secrets.ts'

/** A row as the database has it: secrets are encrypted. */
export interface SealedRow {
  readonly kind: string
  readonly id: string
  readonly state: 'set' | 'hidden' | 'reset'
  readonly value: JsonValue
  readonly base: JsonValue
  /** bigint comes as a string. */
  readonly revision: string
  readonly created: string
  readonly author: string
  readonly time: string
}

const TIME = `to_char(c.time at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as time`
const OWN_COLUMNS = 'r.kind, r.id, r.state, r.value, r.base, r.revision, r.created'
const COLUMNS = `${OWN_COLUMNS}, c.author, ${TIME}`

/** All rows, or those that changed. */
export interface Snapshot {
  readonly revision: number
  /** When the newest change was made: two databases may have different ones of one number. */
  readonly mark: string
  readonly rows: readonly SealedRow[]
}

export async function readRevision(client: Queries): Promise<number> {
  const text = 'select coalesce(max(revision), 0) as revision from portcullis_changes'
  const [first] = (await client.query(text)).rows as readonly { readonly revision: string }[]
  return Number(first?.revision ?? 0)
}

/** Call it within a transaction that sees one state of the database. */
export async function readRows(client: Queries): Promise<Snapshot> {
  const text = `select revision, ${TIME} from portcullis_changes c order by revision desc limit 1`
  const [newest] = (await client.query(text)).rows as readonly Marked[]
  // One change may have stored thousands: its time is written once, which takes longer than the rest.
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
 * Only the rows that changed since what is known, also those that are gone (`reset`). Undefined
 * where the database does not have that revision, or has another under its number: after a failover
 * it may lack what was stored last. Call it within a transaction as well.
 */
export async function readRowsSince(
  client: Queries,
  { revision, mark }: Pick<Snapshot, 'revision' | 'mark'>,
): Promise<Snapshot | undefined> {
  if (revision <= 0) return undefined
  const ends = await client.query(
    `select revision, ${TIME} from portcullis_changes c
     where revision = $1 or revision = (select max(revision) from portcullis_changes)
     order by revision`,
    [revision],
  )
  const [known, newest = known] = ends.rows as readonly Marked[]
  if (known === undefined || Number(known.revision) !== revision || known.time !== mark) {
    return undefined
  }
  const now = { revision: Number(newest?.revision), mark: newest?.time ?? '' }
  if (now.revision === revision) return { ...now, rows: [] }
  const { rows } = await client.query(
    `select distinct on (r.kind, r.id) ${COLUMNS}
     from portcullis_history r join portcullis_changes c using (revision)
     where r.revision > $1 order by r.kind, r.id, r.revision desc`,
    [revision],
  )
  return { ...now, rows: rows as readonly SealedRow[] }
}

/** What was stored when a revision was the newest. */
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

/** Undefined for one that is gone, and for kinds that a newer version added. */
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

/** One resource of a change: what it was, and what it became. */
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
  /** Only older ones. */
  readonly before?: number | undefined
  readonly limit: number
}

/** The newest first. */
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
      // Of a first edit: what the baseline had.
      before: open(row.previous ?? row.base),
      after: open(row.value),
    }
  })
}

interface HistoryRow extends SealedRow {
  readonly action: string
  readonly comment: string
  readonly previous: JsonValue
}
