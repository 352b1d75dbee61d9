import { isDeepStrictEqual } from 'node:util'
import type { JsonObject, JsonValue } from '../../model/json.ts'
import { pointerOf } from '../../model/json-pointer.ts'
import { isObject, keyOf, type Resource, type ResourceKey } from './resources.ts'

/** A stored edit of a resource. */
export interface StoredResource {
  readonly kind: Resource['kind']
  readonly id: string
  /** `hidden`: an edit deleted the resource of the baseline. */
  readonly state: 'set' | 'hidden'
  /** The whole edited value; null if hidden. */
  readonly value: JsonValue
  /** The value in the baseline when it was edited; null if there was none. */
  readonly base: JsonValue
  /** The revision of the change that stored it. */
  readonly revision: number
  /** The revision that first stored it; resources of the database are in this order. */
  readonly created: number
  readonly author: string
  readonly time: string
}

export type Provenance = 'baseline' | 'database'

export interface MergedResource extends Resource {
  /** `merged`: the resource is in the baseline and was edited. */
  readonly origin: 'baseline' | 'database' | 'merged'
  readonly stored: StoredResource | undefined
  /** The origin of each field by its JSON pointer; the empty pointer is the whole value. */
  readonly provenance: Readonly<Record<string, Provenance>>
  /** Edited fields that the baseline has changed since; the edit wins. */
  readonly drift: readonly string[]
}

export interface Merged {
  readonly resources: readonly MergedResource[]
  /** Resources of the baseline that an edit deleted. */
  readonly hidden: readonly MergedResource[]
}

/**
 * Merges the edits into the baseline. A field that was not edited follows later changes of the
 * baseline; lists are edited as a whole.
 */
export function mergeResources(
  baseline: ReadonlyMap<ResourceKey, Resource>,
  stored: readonly StoredResource[],
): Merged {
  const known = wholes.get(stored)
  if (known?.baseline === baseline) return known.merged
  const made = mergeAll(baseline, stored)
  wholes.set(stored, { baseline, merged: made })
  return made
}

/** Keyed by the stored edits: they are merged for the response to an edit and for the gateway. */
const wholes = new WeakMap<
  readonly StoredResource[],
  { readonly baseline: ReadonlyMap<ResourceKey, Resource>; readonly merged: Merged }
>()

function mergeAll(
  baseline: ReadonlyMap<ResourceKey, Resource>,
  stored: readonly StoredResource[],
): Merged {
  const edits = new Map<Resource, StoredResource>()
  const added: StoredResource[] = []
  let isOrdered = true
  for (const one of stored) {
    const own = ownOf(baseline, one)
    if (own !== undefined) edits.set(own, one)
    else if (one.state === 'set') {
      const before = added[added.length - 1]
      isOrdered &&= before === undefined || order(before, one) < 0
      added.push(one)
    }
  }
  const resources: MergedResource[] = []
  const hidden: MergedResource[] = []
  for (const own of baseline.values()) {
    const edit = edits.get(own)
    if (edit === undefined) resources.push(untouched(own))
    else (edit.state === 'hidden' ? hidden : resources).push(merged(edit))
  }
  // There may be thousands, and they usually arrive in order.
  if (!isOrdered) added.sort(order)
  for (const edit of added) resources.push(merged(edit))
  return { resources, hidden }
}

function order(a: StoredResource, b: StoredResource): number {
  return a.created - b.created || (isBefore(a, b) ? -1 : 1)
}

function isBefore(a: StoredResource, b: StoredResource): boolean {
  return a.kind === b.kind ? a.id < b.id : a.kind < b.kind
}

/* Unchanged input yields the same result object, so that the reader can skip it. */
const untouchedOf = new WeakMap<Resource, MergedResource>()
const mergings = new WeakMap<StoredResource, Merging>()

interface Merging {
  readonly baseline: ReadonlyMap<ResourceKey, Resource>
  /** The resource of the baseline that this edits. */
  readonly own: Resource | undefined
  merged: MergedResource | undefined
}

function untouched(own: Resource): MergedResource {
  const known = untouchedOf.get(own)
  if (known !== undefined) return known
  const made: MergedResource = { ...own, ...UNTOUCHED }
  untouchedOf.set(own, made)
  return made
}

function ownOf(
  baseline: ReadonlyMap<ResourceKey, Resource>,
  edit: StoredResource,
): Resource | undefined {
  const known = mergings.get(edit)
  if (known !== undefined && known.baseline === baseline) return known.own
  const own = baseline.get(keyOf(edit))
  // A new baseline that also lacks the resource does not change the result.
  const isSame = known !== undefined && known.own === own
  mergings.set(edit, { baseline, own, merged: isSame ? known.merged : undefined })
  return own
}

function merged(edit: StoredResource): MergedResource {
  const merging = mergings.get(edit) as Merging
  merging.merged ??= merge(edit, merging.own)
  return merging.merged
}

function merge(edit: StoredResource, own: Resource | undefined): MergedResource {
  if (own === undefined) return add(edit)
  return edit.state === 'hidden' ? hide(edit, own) : mergeEdit(edit, own)
}

function hide(edit: StoredResource, own: Resource): MergedResource {
  const drift = isDeepStrictEqual(edit.base, own.value) ? [] : ['']
  return { ...own, origin: 'merged', stored: edit, provenance: STORED, drift }
}

function add(edit: StoredResource): MergedResource {
  const { kind, id, value } = edit
  // The baseline had the resource earlier but no longer does.
  const drift = edit.base === null ? [] : ['']
  return { kind, id, value, origin: 'database', stored: edit, provenance: STORED, drift }
}

/** Applies an edit to a value of the baseline. */
export function mergedValue(
  { value, base }: Pick<StoredResource, 'value' | 'base'>,
  now: JsonValue,
): JsonValue {
  return mergeFields(base, value, now).value
}

const STORED = { '': 'database' } as const

const UNTOUCHED = {
  origin: 'baseline',
  stored: undefined,
  provenance: { '': 'baseline' },
  drift: [],
} as const

function mergeEdit(edit: StoredResource, own: Resource): MergedResource {
  const merged = mergeFields(edit.base, edit.value, own.value)
  return { ...own, ...merged, origin: 'merged', stored: edit }
}

function mergeFields(
  was: JsonValue,
  wanted: JsonValue,
  is: JsonValue,
): Pick<MergedResource, 'value' | 'provenance' | 'drift'> {
  const provenance: Record<string, Provenance> = {}
  const drift: string[] = []
  const value = mergeField({ base: was, edited: wanted, now: is }, '')
  return { value, provenance, drift }

  function mergeField(field: Field, pointer: string): JsonValue {
    const { base, edited, now } = field
    if (isObject(base) && isObject(edited) && isObject(now)) {
      return mergeMembers(base, edited, now, pointer)
    }
    const isEdited = !isDeepStrictEqual(base, edited)
    provenance[pointer] = isEdited ? 'database' : 'baseline'
    if (!isEdited) return now
    if (!isDeepStrictEqual(base, now) && !isDeepStrictEqual(edited, now)) drift.push(pointer)
    return edited
  }

  function mergeMembers(
    base: JsonObject,
    edited: JsonObject,
    now: JsonObject,
    pointer: string,
  ): JsonObject {
    const merged: Record<string, JsonValue> = {}
    // In the order of the edit; keys added to the baseline since then come last.
    for (const key of new Set([
      ...Object.keys(edited),
      ...Object.keys(now),
      ...Object.keys(base),
    ])) {
      const at = pointer + pointerOf([key])
      const [was, is, wanted] = [memberOf(base, key), memberOf(now, key), memberOf(edited, key)]
      if (was !== undefined && is !== undefined && wanted !== undefined) {
        put(merged, key, mergeField({ base: was, edited: wanted, now: is }, at))
        continue
      }
      const isEdited = !isDeepStrictEqual(was, wanted)
      const value = isEdited ? wanted : is
      provenance[at] = isEdited ? 'database' : 'baseline'
      if (isEdited && !isDeepStrictEqual(was, is) && !isDeepStrictEqual(wanted, is)) drift.push(at)
      if (value === undefined && !isEdited) delete provenance[at]
      if (value !== undefined) put(merged, key, value)
    }
    return merged
  }
}

interface Field {
  readonly base: JsonValue
  readonly edited: JsonValue
  readonly now: JsonValue
}

function memberOf(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined
}

/** `__proto__` is an ordinary key here. */
function put(object: Record<string, JsonValue>, key: string, value: JsonValue): void {
  Object.defineProperty(object, key, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  })
}
