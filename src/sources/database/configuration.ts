import { createHash } from 'node:crypto'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { canonicalJson, type JsonValue } from '../../model/json.ts'
import type { Environment } from '../file/expand.ts'
import { readText } from '../file/load.ts'
import { type Baseline, readBaseline } from './load.ts'
import { type Merged, type MergedResource, mergeResources, type StoredResource } from './merge.ts'
import { sectionValue } from './overlay.ts'
import { RESOURCE_KINDS, type ResourceKind, shapeOf } from './resource-kinds.ts'
import { keyOf, nameIn, type ResourceKey } from './resources.ts'
import type { ChangeBy, NewRow } from './rows.ts'
import type { SecretReferences } from './secrets.ts'
import type { ChangeOutcome, Planned, Store } from './store.ts'

export interface ConfigurationOptions {
  readonly file: string
  readonly environment: Environment
  /** If absent, the configuration is read-only. */
  readonly store?: Store | undefined
  readonly references: SecretReferences
  /** Returns all diagnostics of a whole configuration, as if it were applied. */
  readonly validate: (baseline: Baseline, merged: Merged) => Promise<readonly Diagnostic[]>
}

/** The parts of a configuration at one point in time. */
export interface ConfigurationView {
  readonly baseline: Baseline
  readonly merged: Merged
}

/** `delete` also hides a resource of the baseline; `revert` restores the value of the baseline. */
export type Change =
  | {
      readonly action: 'set'
      readonly kind: ResourceKind
      readonly id: string
      readonly value: JsonValue
      readonly ifMatch?: string | undefined
    }
  | {
      readonly action: 'delete' | 'revert'
      readonly kind: ResourceKind
      readonly id: string
      readonly ifMatch?: string | undefined
    }

/** The reason why a change was not stored. */
export type ChangeFailure =
  | { readonly why: 'unreadable' }
  | { readonly why: 'not-found'; readonly key: ResourceKey }
  | { readonly why: 'unconditional'; readonly key: ResourceKey; readonly now: MergedResource }
  | {
      readonly why: 'conflict'
      readonly key: ResourceKey
      readonly now: MergedResource | undefined
      readonly wanted: JsonValue
    }
  | { readonly why: 'unknown-secret'; readonly key: ResourceKey }
  | { readonly why: 'other-name'; readonly key: ResourceKey; readonly name: string | undefined }
  | { readonly why: 'unnamed'; readonly key: ResourceKey }
  | { readonly why: 'invalid'; readonly diagnostics: readonly Diagnostic[] }
  | { readonly why: 'no-revision'; readonly revision: number }

/** A configuration file and the edits in its store. */
export class Configuration {
  readonly #options: ConfigurationOptions

  constructor(options: ConfigurationOptions) {
    this.#options = options
  }

  get file(): string {
    return this.#options.file
  }

  get store(): Store | undefined {
    return this.#options.store
  }

  get references(): SecretReferences {
    return this.#options.references
  }

  /** Whether the edits are known: not before the first of them were read from the database. */
  get isKnown(): boolean {
    return this.#options.store?.isKnown !== false
  }

  /** The text of the file; undefined if it cannot be read. */
  text(): string | undefined {
    const found = readText(this.#options.file)
    return 'problem' in found ? undefined : found.text
  }

  /** Undefined if the file cannot be read. */
  view(
    stored: readonly StoredResource[] = this.#options.store?.stored ?? [],
  ): ConfigurationView | undefined {
    const { file, environment } = this.#options
    const baseline = readBaseline(file, environment)
    return baseline && { baseline, merged: mergeResources(baseline.resources, stored) }
  }

  /** Returns the configuration with the changes applied, without storing anything. */
  preview(changes: readonly Change[]): ConfigurationView | ChangeFailure {
    const stored = this.#options.store?.stored ?? []
    const view = this.view(stored)
    if (view === undefined) return { why: 'unreadable' }
    const rows = this.#rowsOf(view, changes, false)
    if (!Array.isArray(rows)) return rows as ChangeFailure
    return {
      baseline: view.baseline,
      merged: mergeResources(view.baseline.resources, applied(stored, rows)),
    }
  }

  validate({ baseline, merged }: ConfigurationView): Promise<readonly Diagnostic[]> {
    return this.#options.validate(baseline, merged)
  }

  /** Stores either all of the changes or none. */
  write(
    store: Store,
    changes: readonly Change[],
    by: ChangeBy,
  ): Promise<ChangeOutcome<ChangeFailure>> {
    return store.change(
      (stored) => this.#plan(stored, (view) => this.#rowsOf(view, changes, true)),
      by,
    )
  }

  /** Restores the stored edits of an earlier revision, as a new change. */
  rollback(store: Store, revision: number, by: ChangeBy): Promise<ChangeOutcome<ChangeFailure>> {
    return store.change(async (stored) => {
      const then = await store.at(revision)
      if (then === undefined) return { failure: { why: 'no-revision', revision } }
      return this.#plan(stored, () => rowsTowards(stored, then))
    }, by)
  }

  async #plan(
    stored: readonly StoredResource[],
    rowsOf: (view: ConfigurationView) => readonly NewRow[] | ChangeFailure,
  ): Promise<Planned<ChangeFailure>> {
    const before = this.view(stored)
    if (before === undefined) return { failure: { why: 'unreadable' } }
    const rows = rowsOf(before)
    if ('why' in rows) return { failure: rows }
    const { baseline } = before
    const merged = mergeResources(baseline.resources, applied(stored, rows))
    const after = await this.validate({ baseline, merged })
    const errors = after.filter(({ severity }) => severity === 'error')
    if (errors.length > 0) {
      // Existing errors may be fixed step by step; new errors are rejected.
      const known = new Set((await this.validate(before)).map(identityOf))
      const added = errors.filter((one) => !known.has(identityOf(one)))
      if (added.length > 0) return { failure: { why: 'invalid', diagnostics: added } }
    }
    return { rows }
  }

  #rowsOf(
    { baseline, merged }: ConfigurationView,
    changes: readonly Change[],
    isConditional: boolean,
  ): readonly NewRow[] | ChangeFailure {
    const isMeant = meantBy(changes)
    const shownOnes = merged.resources.filter(isMeant)
    const hiddenOnes = merged.hidden.filter(isMeant)
    const there = new Map([...hiddenOnes, ...shownOnes].map((one) => [keyOf(one), one]))
    const isShown = new Set(shownOnes.map(keyOf))
    const rows: NewRow[] = []
    for (const change of changes) {
      const key = keyOf(change)
      const now = there.get(key)
      const shown = isShown.has(key) ? now : undefined
      const { kind, id, ifMatch } = change
      const wanted = change.action === 'set' ? change.value : null
      if (isConditional && ifMatch !== undefined && !matches(ifMatch, shown)) {
        return { why: 'conflict', key, now: shown, wanted }
      }
      if (isConditional && ifMatch === undefined && shown !== undefined) {
        return { why: 'unconditional', key, now: shown }
      }
      const base = baseline.resources.get(key)?.value ?? null
      if (change.action !== 'set') {
        const isThere = change.action === 'revert' ? now?.stored !== undefined : shown !== undefined
        if (!isThere) return { why: 'not-found', key }
        const state = change.action === 'revert' || base === null ? 'reset' : 'hidden'
        rows.push({ kind, id, state, value: null, base })
        continue
      }
      const value = this.references.restore(
        change.value,
        kind,
        [now?.value, now?.stored?.value, base].filter((one) => one !== undefined),
      )
      if (value === undefined) return { why: 'unknown-secret', key }
      const name = shapeOf(kind) === 'list' ? nameIn(value) : id
      if (base !== null && shapeOf(kind) === 'list' && nameIn(base) === undefined) {
        return { why: 'unnamed', key }
      }
      if (name !== id) return { why: 'other-name', key, name }
      rows.push({ kind, id, state: 'set', value, base })
    }
    return rows
  }
}

/** Whether a change names this resource; there may be thousands of other resources. */
function meantBy(changes: readonly Change[]): (one: MergedResource) => boolean {
  const ids = new Set(changes.map(({ id }) => id))
  return ({ id }) => ids.has(id)
}

/** The version of a resource. It changes with each edit and with each change of the baseline. */
export function etagOf({ stored, value }: MergedResource): string {
  const digest = createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, 16)
  return `"${stored?.revision ?? 0}-${digest}"`
}

function matches(ifMatch: string, now: MergedResource | undefined): boolean {
  if (ifMatch === 'none') return now === undefined
  if (now === undefined) return false
  return ifMatch.split(',').some((one) => one.trim() === '*' || one.trim() === etagOf(now))
}

/** The rows that would be stored. */
function applied(
  stored: readonly StoredResource[],
  rows: readonly NewRow[],
): readonly StoredResource[] {
  // Later rows win.
  const changed = new Map(rows.map((row) => [keyOf(row), row]))
  const ids = new Set(rows.map(({ id }) => id))
  const all: StoredResource[] = []
  for (const one of stored) {
    const row = ids.has(one.id) ? changed.get(keyOf(one)) : undefined
    if (row !== undefined) changed.delete(keyOf(one))
    if (row === undefined) all.push(one)
    else if (row.state !== 'reset') all.push(storedAs(row, row.state, one.created))
  }
  for (const row of changed.values()) {
    if (row.state !== 'reset') all.push(storedAs(row, row.state, Number.MAX_SAFE_INTEGER))
  }
  return all
}

function storedAs(row: NewRow, state: StoredResource['state'], created: number): StoredResource {
  return { ...row, state, created, revision: -1, author: '', time: '' }
}

function rowsTowards(
  now: readonly StoredResource[],
  then: readonly StoredResource[],
): readonly NewRow[] {
  const wanted = new Map(then.map((one) => [keyOf(one), one]))
  const gone = now
    .filter((one) => !wanted.has(keyOf(one)))
    .map(({ kind, id, base }) => ({ kind, id, state: 'reset', value: null, base }) as const)
  const known = new Map(now.map((one) => [keyOf(one), one]))
  const other = then.filter((one) => known.get(keyOf(one))?.revision !== one.revision)
  return [
    ...gone,
    ...other.map(({ kind, id, state, value, base }) => ({ kind, id, state, value, base })),
  ]
}

function identityOf({ code, message, origin }: Diagnostic): string {
  return JSON.stringify([code, message, origin.kind === 'file' ? origin.line : origin])
}

/** The whole configuration in the format of a file. */
export function documentOf({ baseline, merged }: ConfigurationView): Record<string, unknown> {
  const document: Record<string, unknown> = { ...(baseline.value as object) }
  for (const kind of RESOURCE_KINDS) {
    const own = merged.resources.filter((one) => one.kind === kind)
    if (own.length === 0) delete document[kind]
    else document[kind] = sectionValue(kind, own)
  }
  return document
}
