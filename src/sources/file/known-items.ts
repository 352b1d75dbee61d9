import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { BackendReference, Placed, PlacedBackend, Targeted } from '../../reach/checks/draft.ts'
import type { Place } from '../../reach/checks/place.ts'
import { type Document, positionAt } from './document.ts'
import { FilePlace } from './file-place.ts'
import type { Reading } from './reading.ts'

/** What an item of a list is read as, with the backends that it defines in place. */
export interface ReadItem extends Placed<{ readonly name: string }> {
  readonly backends?: readonly PlacedBackend[]
}

/** Reads the item with this number, or takes it as it is known. */
export type ItemReader<Item = ReadItem> = <T extends Item>(
  index: number,
  read: (reading: Reading) => T,
) => T

/** What was read before, and need not be read again. */
export interface ItemMemory {
  /** For one reading of a list. */
  open(reading: Reading, key: string): ItemReader
  /** The same for `policies`, if these are remembered. */
  openPolicies?(reading: Reading): ItemReader<readonly Targeted[]>
}

/** An item as it was read, and all that it was read from but for its number. */
interface Known {
  readonly text: string
  readonly line: number
  readonly column: number
  readonly item: ReadItem
  /** Backends that it names. */
  readonly references: readonly BackendReference[]
}

/**
 * The items of a file's lists as they were read last. Of a long file mostly one item changes: the
 * others are not read again, and are the same objects as before, so that nothing after the reader
 * compares or compiles them either.
 *
 * An item is kept only if it depends on nothing but its text, its number and its line: one that
 * names a file, fills in a variable or had anything reported about it is read each time.
 */
export class KnownItems implements ItemMemory {
  readonly #lists = new Map<string, readonly (Known | undefined)[]>()

  open(reading: Reading, key: string): ItemReader {
    const { document } = reading
    const pieces = document.lists.get(key)
    if (pieces === undefined) return (_, read) => read(reading)
    const before = this.#lists.get(key)
    const after: (Known | undefined)[] = []
    this.#lists.set(key, after)
    let mayKeep = true
    const isSpoilt = () => {
      mayKeep = false
    }
    const watched = watchReading(reading, isSpoilt, isSpoilt)
    return (index, read) => {
      const { start, end } = pieces.spanOf(index)
      const text = document.text.slice(start, end)
      const { line, column } = positionAt(document, start)
      const known = before?.[index]
      const isSame = known?.text === text && known.line === line && known.column === column
      if (known !== undefined && isSame) {
        // With the text of this document: that of the one before need not stay in memory.
        after[index] = { ...known, text }
        for (const one of known.references) reading.references.push(rebound(one, document))
        return reboundItem(known.item as ReturnType<typeof read>, document)
      }
      mayKeep = !text.includes('$')
      const first = reading.references.length
      const item = read(watched)
      if (mayKeep) {
        after[index] = { text, line, column, item, references: reading.references.slice(first) }
      }
      return item
    }
  }
}

/** The same reading, which says when something depends on more than the text, and is reported. */
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

function reboundItem<T extends ReadItem>(item: T, document: Document): T {
  const { backends = [], place } = item
  const own = { ...item, place: placeIn(document, place) }
  if (backends.length === 0) return own
  return withOwned(
    own,
    backends.map((one) => rebound(one, document)),
  )
}

/** The item with the backends that it defines in place, which know it. */
export function withOwned<T extends object>(
  item: T,
  backends: readonly PlacedBackend[],
): T & { readonly backends: readonly PlacedBackend[] } {
  const own = { ...item, backends: [] as PlacedBackend[] }
  for (const { thing, place } of backends) own.backends.push({ thing, place, owner: own })
  return own
}

function rebound<T extends { readonly place: Place }>(one: T, document: Document): T {
  return { ...one, place: placeIn(document, one.place) }
}

function placeIn(document: Document, place: Place): Place {
  return place instanceof FilePlace ? place.in(document) : place
}
