import type { FileOrigin } from '../diagnostics/diagnostic.ts'
import { isFileOrigin } from './places.ts'

/**
 * Things that were moved within their file, and are otherwise as they were. They stay the same
 * objects, with all that was made of them, and their origins say which lines they are on now: a
 * line that is inserted at the top of a file costs no more than one at its end. Lines of origins
 * are all that ever changes in a Model.
 */
export class Moves {
  readonly #origins: FileOrigin[] = []
  readonly #lines: number[] = []

  get count(): number {
    return this.#origins.length
  }

  move(origin: FileOrigin, line: number): void {
    if (origin.line === line) return
    this.#origins.push(origin)
    this.#lines.push(origin.line)
    write(origin, line)
  }

  /** The origins of a thing, by their number: see `placesIn`. */
  moveTo(thing: object, lines: ArrayLike<number>, from = 0): void {
    const origins = placesIn(thing)
    for (let i = 0; i < origins.length; i++) {
      this.move(origins[i] as FileOrigin, lines[from + i] as number)
    }
  }

  /** All of a thing, by so many lines. */
  moveBy(thing: object, by: number): void {
    if (by === 0) return
    // The same origin may be there several times.
    const lines = placesIn(thing).map(({ line }) => line + by)
    this.moveTo(thing, lines)
  }

  /** What was read is not in effect: all is where it was. */
  undo(): void {
    for (let i = this.#origins.length - 1; i >= 0; i--) {
      write(this.#origins[i] as FileOrigin, this.#lines[i] as number)
    }
    this.#origins.length = 0
    this.#lines.length = 0
  }
}

let made = 0

function write(origin: FileOrigin, line: number): void {
  made++
  ;(origin as { line: number }).line = line
}

/** Whoever kept a copy of a line, or sent one, asks whether it is the same number as then. */
export function movesMade(): number {
  return made
}

const places = new WeakMap<object, readonly FileOrigin[]>()

/** Origins in files that a thing of the Model and all within it have, in a fixed order. */
export function placesIn(thing: object): readonly FileOrigin[] {
  const known = places.get(thing)
  if (known !== undefined) return known
  const found: FileOrigin[] = []
  collect(thing as Fields, found)
  places.set(thing, found)
  return found
}

type Fields = Readonly<Record<string, unknown>>

function collect(value: Fields, found: FileOrigin[]): void {
  for (const key in value) {
    const member = value[key]
    if (typeof member !== 'object' || member === null) continue
    if (key === 'origin' && isFileOrigin(member)) found.push(member)
    else collect(member as Fields, found)
  }
}
