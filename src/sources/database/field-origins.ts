import { isDeepStrictEqual } from 'node:util'
import type { JsonValue } from '../../model/json.ts'
import { type Steps, stepsOf } from '../../model/json-pointer.ts'
import { type MergedResource, mergedValue, type Provenance } from './merge.ts'
import { isObject } from './resources.ts'

/** One edit of a resource in the history. */
export interface StoredEdit {
  readonly state: 'set' | 'hidden' | 'reset'
  readonly value: JsonValue
  /** The value in the baseline at that time; null if there was none. */
  readonly base: JsonValue
  readonly revision: number
  readonly author: string
  readonly time: string
  readonly comment: string
}

/** The origin of a field of a resource. */
export interface FieldOrigin {
  readonly steps: Steps
  readonly from: Provenance
  /** The edit that last changed the field; undefined for a field of the baseline. */
  readonly edit: StoredEdit | undefined
  /** An edit removed a field that the baseline has. */
  readonly isRemoved: boolean
  /** The baseline changed the field after it was edited. */
  readonly isDrifted: boolean
}

/** Reads edits of a resource before a revision, newest first, in pages of any size. */
export type ReadEdits = (before: number) => Promise<readonly StoredEdit[]>

/**
 * Returns the origin of each field of a resource, or of the fields at and below one path. Undefined
 * if the resource has no such field.
 */
export async function fieldOrigins(
  resource: MergedResource,
  isHidden: boolean,
  readEdits: ReadEdits,
  asked: Steps = [],
): Promise<readonly FieldOrigin[] | undefined> {
  const origins = Object.entries(resource.provenance).map(
    ([pointer, from]): Origin => ({ steps: stepsOf(pointer), from }),
  )
  const value = isHidden ? undefined : resource.value
  const isKnown = origins.some(({ steps }) => isWithin(steps, asked))
  if (!isKnown && valueAt(resource.value, asked) === undefined) return undefined
  const drift = resource.drift.map(stepsOf)
  const history = new Edits(readEdits, (resource.stored?.revision ?? 0) + 1)
  const found: FieldOrigin[] = []
  for (const { steps, from } of origins) {
    const isAbove = isWithin(asked, steps)
    if (!isAbove && !isWithin(steps, asked)) continue
    const start = isAbove ? asked : steps
    const fields = from === 'baseline' ? [start] : leavesOf(start, valueAt(value, start))
    for (const own of fields) {
      // An edit of a list may leave an item unchanged.
      const edit =
        from === 'baseline'
          ? undefined
          : ((await history.lastChangeOf(own)) ?? (await history.lastChangeOf(steps)))
      const isRemoved = valueAt(value, own) === undefined
      const isDrifted = drift.some((one) => isWithin(own, one))
      found.push({ steps: own, from, edit, isRemoved, isDrifted })
    }
  }
  return combined(found, asked, valueAt(value, asked))
}

interface Origin {
  readonly steps: Steps
  readonly from: Provenance
}

/** Returns the path of each value that is not a mapping; lists are edited as a whole. */
function leavesOf(steps: Steps, value: JsonValue | undefined): readonly Steps[] {
  if (!isObject(value) || Object.keys(value).length === 0) return [steps]
  return Object.entries(value).flatMap(([name, inner]) => leavesOf([...steps, name], inner))
}

/** Reports a mapping as one field if all of its members have the same origin. */
function combined(
  found: readonly FieldOrigin[],
  steps: Steps,
  value: JsonValue | undefined,
): readonly FieldOrigin[] {
  if (!isObject(value) || found.length < 2) return found
  const own = Map.groupBy(found, (one) => one.steps[steps.length] ?? '')
  const fields = [...own].flatMap(([name, below]) =>
    combined(below, [...steps, name], Object.hasOwn(value, name) ? value[name] : undefined),
  )
  const [first] = fields
  const isOne = fields.every(
    ({ from, edit, isRemoved, isDrifted }) =>
      from === first?.from && edit === first.edit && !isRemoved && !isDrifted,
  )
  return isOne && first !== undefined && fields.length > 1 ? [{ ...first, steps }] : fields
}

/** The history of one resource, read only as far as needed. */
class Edits {
  readonly #read: ReadEdits
  readonly #edits: StoredEdit[] = []
  #before: number
  #isWhole = false

  constructor(read: ReadEdits, before: number) {
    this.#read = read
    this.#before = before
  }

  /** The newest edit that changed the field. */
  async lastChangeOf(steps: Steps): Promise<StoredEdit | undefined> {
    for (let index = 0; ; index++) {
      const edit = await this.#at(index)
      if (edit === undefined) return undefined
      const before = valueBefore(edit, await this.#at(index + 1))
      const isSame = isDeepStrictEqual(valueAt(valueAfter(edit), steps), valueAt(before, steps))
      if (!isSame) return edit
    }
  }

  async #at(index: number): Promise<StoredEdit | undefined> {
    while (index >= this.#edits.length && !this.#isWhole) {
      const older = await this.#read(this.#before)
      this.#edits.push(...older)
      this.#before = older.at(-1)?.revision ?? 0
      this.#isWhole = older.length === 0
    }
    return this.#edits[index]
  }
}

function valueAfter({ state, value, base }: StoredEdit): JsonValue | undefined {
  if (state === 'hidden') return undefined
  return (state === 'set' ? value : base) ?? undefined
}

/** The value served before an edit: the previous edit, applied to the baseline of that time. */
function valueBefore(edit: StoredEdit, previous: StoredEdit | undefined): JsonValue | undefined {
  if (previous === undefined || previous.state === 'reset') return edit.base ?? undefined
  if (previous.state === 'hidden') return undefined
  return edit.base === null ? previous.value : mergedValue(previous, edit.base)
}

function valueAt(value: JsonValue | undefined, steps: Steps): JsonValue | undefined {
  let inner = value
  for (const step of steps) {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, step)) return undefined
    inner = (inner as Readonly<Record<string, JsonValue>>)[step]
  }
  return inner
}

/** Whether `steps` is at or below `place`. */
function isWithin(steps: Steps, place: Steps): boolean {
  return place.every((step, index) => steps[index] === step)
}
