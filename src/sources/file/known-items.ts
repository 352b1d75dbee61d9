import type { Diagnostic, Origin } from '../../diagnostics/diagnostic.ts'
import { Moves } from '../../model/moves.ts'
import type { BackendReference, Placed, PlacedBackend, Targeted } from '../../reach/checks/draft.ts'
import type { Place } from '../../reach/checks/place.ts'
import { type Document, positionAt } from './document.ts'
import { FilePlace } from './file-place.ts'
import type { Reading } from './reading.ts'

/** What an item of a list is read as, with the backends that it defines in place. */
export interface ReadItem extends Placed<{ readonly name: string; readonly origin: Origin }> {
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
  readonly column: number
  readonly item: ReadItem
  /** Backends that it names. */
  readonly references: readonly BackendReference[]
  /** Lines from that of the item to the one that its thing says it is on. */
  readonly offset: number
  /** Of one that is called by its number, the number. */
  readonly index: number | undefined
}

/**
 * The items of a file's lists as they were read last. Of a long file mostly one item changes: the
 * others are not read again, and are the same objects as before, so that nothing after the reader
 * compares or compiles them either. Those that are on other lines now, since something was inserted
 * or removed above them, are told so: see model/moves.ts.
 *
 * An item is kept only if it depends on nothing but its text: one that names a file, fills in a
 * variable or had anything reported about it is read each time. One without a name depends on its
 * number, too.
 */
export class KnownItems implements ItemMemory {
  readonly #lists = new Map<string, readonly (Known | undefined)[]>()
  #moves = new Moves()

  /** What was moved by all that was read since it was asked for. */
  takeMoves(): Moves {
    const moves = this.#moves
    this.#moves = new Moves()
    return moves
  }

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
      const { line, column } = positionAt(document, start)
      const known = find(text, column, index)
      if (known !== undefined) {
        // With the text of this document: that of the one before need not stay in memory.
        after[index] = { ...known, text }
        this.#move(known, line)
        for (const one of known.references) reading.references.push(rebound(one, document, index))
        return reboundItem(known.item as ReturnType<typeof read>, document, index)
      }
      mayKeep = !text.includes('$')
      isNumbered = false
      const first = reading.references.length
      const item = read(watched)
      const at = lineOf(item.thing)
      if (mayKeep && at !== undefined) {
        const references = reading.references.slice(first)
        const number = isNumbered ? index : undefined
        after[index] = { text, column, item, references, offset: at - line, index: number }
      }
      return item
    }
  }

  #move({ item, offset }: Known, line: number): void {
    const { thing, backends = [] } = item
    const now = lineOf(thing)
    if (now === undefined) return
    const by = line + offset - now
    if (by === 0) return
    this.#moves.moveBy(thing, by)
    for (const backend of backends) this.#moves.moveBy(backend.thing, by)
  }
}

function lineOf({ origin }: ReadItem['thing']): number | undefined {
  return origin.kind === 'file' ? origin.line : undefined
}

/**
 * Finds what is known of items, asked for in their order. Most are where the next one is expected;
 * after several that are not, they are looked up by their text.
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
    // The one before it was added, changed or removed: or none was.
    const near = takenAt(next, text, column, index) ?? takenAt(next + 1, text, column, index)
    if (near !== undefined || ++misses < 2) return near
    byText ??= new Map([...known].map((one, at) => [one?.text ?? '', at]))
    const at = byText.get(text)
    return at === undefined ? undefined : takenAt(at, text, column, index)
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

function reboundItem<T extends ReadItem>(item: T, document: Document, index: number): T {
  const { backends = [], place } = item
  const own = { ...item, place: placeIn(document, place, index) }
  if (backends.length === 0) return own
  return withOwned(
    own,
    backends.map((one) => rebound(one, document, index)),
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
