import type { Diagnostic, Origin } from '../../diagnostics/diagnostic.ts'
import type { BackendReference, Placed, PlacedBackend, Targeted } from '../../reach/checks/draft.ts'
import type { Place } from '../../reach/checks/place.ts'
import { type Document, positionAt } from './document.ts'
import { FilePlace } from './file-place.ts'
import type { Reading } from './reading.ts'

/** The result of reading a list item, with the backends that it defines in place. */
export interface ReadItem extends Placed<{ readonly name: string; readonly origin: Origin }> {
  readonly backends?: readonly PlacedBackend[]
}

/** Reads the item with this index, or reuses the cached item. */
export type ItemReader<Item = ReadItem> = <T extends Item>(
  index: number,
  read: (reading: Reading) => T,
) => T

/** A cache of items that need not be read again. */
export interface ItemMemory {
  /** Starts one pass over a list. */
  open(reading: Reading, key: string): ItemReader
  /** The same for `policies`, if they are cached. */
  openPolicies?(reading: Reading): ItemReader<readonly Targeted[]>
}

/** An item as it was read, and everything it was read from except its index. */
interface Known {
  readonly text: string
  readonly column: number
  readonly item: ReadItem
  /** The backends that it names. */
  readonly references: readonly BackendReference[]
  readonly part: string
  /** The index, if the item is named by its index. */
  readonly index: number | undefined
}

/**
 * Caches the items of a file's lists from the last read. In a long file, usually one item changes:
 * the others are not read again, and stay the same objects, so that nothing after the reader
 * compares or compiles them either.
 *
 * An item is cached only if it depends on nothing but its text: an item that names a file, expands
 * a variable or has diagnostics is read each time. An item without a name also depends on its
 * index.
 */
export class KnownItems implements ItemMemory {
  readonly #lists = new Map<string, readonly (Known | undefined)[]>()

  open(reading: Reading, key: string): ItemReader {
    const { document } = reading
    const pieces = document.lists.get(key)
    if (pieces === undefined) return (_, read) => read(reading)
    const find = finder(this.#lists.get(key) ?? [])
    const after: (Known | undefined)[] = []
    this.#lists.set(key, after)
    let mayKeep = true
    let isNumbered = false
    const isSpoilt = () => {
      mayKeep = false
    }
    const watched: Reading = {
      ...watchReading(reading, isSpoilt, isSpoilt),
      dependsOnNumber: () => {
        isNumbered = true
      },
    }
    return (index, read) => {
      const { start, end } = pieces.spanOf(index)
      const text = document.text.slice(start, end)
      const { column } = positionAt(document, start)
      const known = find(text, column, index)
      if (known !== undefined && document.parts.reuse(key, index, known.part)) {
        // Keeps the text of this document, so that the previous document need not stay in memory.
        after[index] = { ...known, text }
        for (const one of known.references) reading.references.push(rebound(one, document, index))
        return reboundItem(known.item as ReturnType<typeof read>, document, index)
      }
      mayKeep = !text.includes('$')
      isNumbered = false
      const first = reading.references.length
      const item = read(watched)
      const { origin } = item.thing
      if (mayKeep && origin.kind === 'part') {
        const references = reading.references.slice(first)
        const number = isNumbered ? index : undefined
        after[index] = { text, column, item, references, part: origin.part, index: number }
      }
      return item
    }
  }
}

/**
 * Finds cached items, in order. Most are at the next expected index; after several misses, items
 * are looked up by their text.
 */
function finder(known: readonly (Known | undefined)[]) {
  let next = 0
  let misses = 0
  let byText: Map<string, number> | undefined
  const taken = new Set<number>()
  const takenAt = (at: number, text: string, column: number, index: number) => {
    const found = known[at]
    if (found?.text !== text || found.column !== column || taken.has(at)) return undefined
    if ((found.index ?? index) !== index) return undefined
    next = at + 1
    misses = 0
    taken.add(at)
    return found
  }
  return (text: string, column: number, index: number): Known | undefined => {
    // Either no item changed before this one, or one was added, changed or removed.
    const near = takenAt(next, text, column, index) ?? takenAt(next + 1, text, column, index)
    if (near !== undefined || ++misses < 2) return near
    byText ??= new Map([...known].map((one, at) => [one?.text ?? '', at]))
    const at = byText.get(text)
    return at === undefined ? undefined : takenAt(at, text, column, index)
  }
}

/** Wraps a reading to observe its diagnostics and any dependency on more than the item's text. */
export function watchReading(
  reading: Reading,
  depends: () => void,
  reported: (diagnostic: Diagnostic) => void,
): Reading {
  const { report, files } = reading
  return {
    ...reading,
    dependsOnMore: depends,
    report: (diagnostic) => {
      reported(diagnostic)
      report(diagnostic)
    },
    files: {
      ...files,
      read: (name, at) => {
        depends()
        return files.read(name, at)
      },
    },
  }
}

function reboundItem<T extends ReadItem>(item: T, document: Document, index: number): T {
  const { backends = [], place } = item
  const own = { ...item, place: placeIn(document, place, index) }
  if (backends.length === 0) return own
  return withOwned(
    own,
    backends.map((one) => rebound(one, document, index)),
  )
}

/** Returns the item with the backends that it defines in place; each refers to its owner. */
export function withOwned<T extends object>(
  item: T,
  backends: readonly PlacedBackend[],
): T & { readonly backends: readonly PlacedBackend[] } {
  const own = { ...item, backends: [] as PlacedBackend[] }
  for (const { thing, place } of backends) own.backends.push({ thing, place, owner: own })
  return own
}

function rebound<T extends { readonly place: Place }>(
  one: T,
  document: Document,
  index: number,
): T {
  return { ...one, place: placeIn(document, one.place, index) }
}

function placeIn(document: Document, place: Place, index: number): Place {
  return place instanceof FilePlace ? place.in(document, index) : place
}
