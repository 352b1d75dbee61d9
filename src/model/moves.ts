import type { FileOrigin } from '../diagnostics/diagnostic.ts'
import { isFileOrigin } from './places.ts'

/**
 * Things that moved within their file and are otherwise unchanged. They stay the same objects, with
 * everything derived from them, and their origins get the new lines: inserting a line at the top of
 * a file costs no more than at its end. Lines of origins are the only part of a Model that ever
 * changes.
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

  /** Sets the lines of a thing's origins, in the order of `placesIn`. */
  moveTo(thing: object, lines: ArrayLike<number>, from = 0): void {
    const origins = placesIn(thing)
    for (let i = 0; i < origins.length; i++) {
      this.move(origins[i] as FileOrigin, lines[from + i] as number)
    }
  }

  /** Moves a thing and everything in it by this number of lines. */
  moveBy(thing: object, by: number): void {
    if (by === 0) return
    // The same origin may occur several times.
    const lines = placesIn(thing).map(({ line }) => line + by)
    this.moveTo(thing, lines)
  }

  /** Restores all lines, if the configuration is not applied. */
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

/** Code that kept or sent a line checks whether this number is still the same. */
export function movesMade(): number {
  return made
}

const places = new WeakMap<object, readonly FileOrigin[]>()

/** The origins in files of a thing in a Model and everything in it, in a fixed order. */
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
