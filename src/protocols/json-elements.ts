import { runToCompletion } from '../model/steps.ts'
import { isTooMuch } from './long-json.ts'
import { writeNarrow } from './narrow-text.ts'

/*
 * Reads a long JSON text with one long list in it, in steps: parsing all of it at once would block
 * other requests. One walk finds the value and the position of each element.
 */

interface ListElement {
  /** The part of the element that is needed: retaining whole elements takes as long as parsing. */
  readonly picked: unknown
  /** Where it is written in the text. */
  readonly start: number
  readonly end: number
}

/** Selects the part of an element that is used later. */
type Pick = (element: unknown) => unknown

const PICK_NONE: Pick = () => undefined

/** Characters skipped per step. */
const WALK = 1 << 18
/** Characters of elements parsed per step. */
const STEP = 1 << 15

const OTHER = 0
const [QUOTE, OPEN, CLOSE, COMMA, BLANK] = [1, 2, 3, 4, 5] as const
/** Characters that end a value or begin another one. */
const KINDS = new Uint8Array(256)
KINDS[34] = QUOTE
for (const letter of '{[') KINDS[letter.charCodeAt(0)] = OPEN
for (const letter of '}]') KINDS[letter.charCodeAt(0)] = CLOSE
KINDS[44] = COMMA
for (const letter of ' \t\n\r') KINDS[letter.charCodeAt(0)] = BLANK

/** The characters of a text, one byte each: reading each from the string takes twice as long. */
class JsonLetters {
  readonly text: string
  readonly #letters: Uint8Array

  constructor(text: string) {
    this.text = text
    const letters = Buffer.allocUnsafe(text.length)
    // A character wider than a byte is inside a string, or the text is not JSON.
    writeNarrow(text, letters, 0, 'x')
    this.#letters = letters
  }

  at(place: number): number {
    return this.#letters[place] ?? 0
  }

  skipSpace(from: number): number {
    const letters = this.#letters
    let at = from
    while (at < letters.length && KINDS[letters[at] as number] === BLANK) at++
    return at
  }

  /** Returns the position after the string that begins here. */
  skipString(from: number): number {
    const letters = this.#letters
    let at = from + 1
    for (; at < letters.length; at++) {
      const letter = letters[at]
      if (letter === 34) return at + 1
      if (letter === 92) at++
    }
    return letters.length
  }

  /** Returns the position after the value that begins here. */
  skipValue(from: number): number {
    return runToCompletion(this.skipValueSteps(from))
  }

  /** The same for a value that may be nearly all of the text. */
  *skipValueSteps(from: number): Generator<void, number> {
    const letters = this.#letters
    let depth = 0
    let at = from
    let next = from + WALK
    while (at < letters.length) {
      if (at > next) {
        next = at + WALK
        yield
      }
      const kind = KINDS[letters[at] as number]
      if (kind === OTHER) {
        at++
        continue
      }
      if (kind === QUOTE) {
        at = this.skipString(at)
        if (depth === 0) return at
        continue
      }
      if (kind === OPEN) depth++
      else if (depth === 0) return at
      else if (kind === CLOSE && --depth === 0) return at + 1
      at++
    }
    return at
  }
}

/** Reads the list that begins at `start`: its elements and its end; undefined if it is no list. */
function* elementSteps(
  letters: JsonLetters,
  start: number,
  pick: Pick,
): Generator<
  void,
  { readonly elements: readonly ListElement[]; readonly end: number } | undefined
> {
  const elements: ListElement[] = []
  let at = letters.skipSpace(start + 1)
  if (letters.at(at) === 93) return { elements, end: at + 1 }
  for (;;) {
    const places: number[] = []
    const first = at
    let end = at
    let isLast = false
    do {
      end = letters.skipValue(at)
      places.push(at, end)
      const next = letters.skipSpace(end)
      const letter = letters.at(next)
      if (letter !== 44 && letter !== 93) return undefined
      isLast = letter === 93
      at = isLast ? next + 1 : letters.skipSpace(next + 1)
    } while (!isLast && end - first < STEP)
    const written = letters.text.slice(first, end)
    // A single element with this many values is not realistic and takes too long to read.
    if (isTooMuch(written)) return undefined
    const values = parsed(`[${written}]`) as readonly unknown[] | undefined
    // Two readers parse the same text: they must agree on the number of elements.
    if (values === undefined || 2 * values.length !== places.length) return undefined
    for (const [index, value] of values.entries()) {
      elements.push({
        picked: pick(value),
        start: places[2 * index] as number,
        end: places[2 * index + 1] as number,
      })
    }
    if (isLast) return { elements, end: at }
    yield
  }
}

/** Returns undefined if the text is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export interface FoundList {
  readonly name: string
  readonly start: number
  readonly end: number
  readonly elements: readonly ListElement[]
}

/** A member of the object at the end of the path. */
interface FoundMember {
  readonly name: string
  readonly start: number
  readonly end: number
}

interface ReadLists {
  readonly lists: readonly FoundList[]
  readonly members: readonly FoundMember[]
  /** Enclosing objects along the path, innermost first. */
  readonly around: readonly FoundMember[]
  /** The text with those lists emptied. */
  readonly frame: string
}

/**
 * Reads the lists that are members of the object at `path`, in steps. Returns undefined if the text
 * is not JSON. Each of two readers reads a part of the text, which is valid if both accept their
 * part: the elements, and the text without them.
 */
export function* readListSteps(
  text: string,
  path: readonly string[],
  pick = PICK_NONE,
): Generator<void, ReadLists | undefined> {
  const letters = new JsonLetters(text)
  const found: Found = { lists: [], members: [], around: [] }
  const { lists } = found
  const start = letters.skipSpace(0)
  const end = letters.at(start) === 123 ? yield* walkObject(letters, start, path, found, pick) : 0
  if (end < 0) return undefined
  let frame = ''
  let at = 0
  for (const list of lists) {
    frame += `${text.slice(at, list.start)}[]`
    at = list.end
  }
  frame += text.slice(at)
  // Callers that need the frame parse it in one go.
  if (isTooMuch(frame)) return undefined
  return parsed(frame) === undefined ? undefined : { ...found, frame }
}

type Found = { readonly [K in Exclude<keyof ReadLists, 'frame'>]: ReadLists[K][number][] }

/** Returns the position after the object, or -1 if it is not an object. */
function* walkObject(
  letters: JsonLetters,
  start: number,
  path: readonly string[],
  found: Found,
  pick: Pick,
): Generator<void, number> {
  const [next, ...rest] = path
  let at = letters.skipSpace(start + 1)
  while (letters.at(at) === 34) {
    const nameEnd = letters.skipString(at)
    const name = parsed(letters.text.slice(at, nameEnd)) as string | undefined
    if (name === undefined) return -1
    const value = letters.skipSpace(letters.skipSpace(nameEnd) + 1)
    const first = letters.at(value)
    let end: number
    if (next !== undefined && name === next && first === 123) {
      end = yield* walkObject(letters, value, rest, found, pick)
      found.around.push({ name, start: value, end })
    } else if (next === undefined && first === 91) {
      const list = yield* elementSteps(letters, value, pick)
      end = list?.end ?? -1
      if (list !== undefined) found.lists.push({ name, start: value, ...list })
    } else end = yield* letters.skipValueSteps(value)
    if (end < 0) return -1
    if (next === undefined) found.members.push({ name, start: value, end })
    at = letters.skipSpace(end)
    if (letters.at(at) === 44) at = letters.skipSpace(at + 1)
  }
  return at + 1
}
