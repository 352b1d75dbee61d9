import type { Excerpt, PartOrigin, Position } from '../../diagnostics/diagnostic.ts'
import type { Places } from '../../diagnostics/places.ts'
import {
  type Document,
  excerptOfWord,
  type Located,
  locate,
  locateStep,
  offsetWithin,
  positionAt,
  spanOfLocated,
} from './document.ts'
import { pathOfPart } from './part-names.ts'

/** Finds parts in a document, which has the text. */
export class DocumentPlaces implements Places {
  readonly #document: Document

  constructor(document: Document) {
    this.#document = document
  }

  find({ file, part, field, at }: PartOrigin): Position | undefined {
    const path = file === this.#document.file ? pathOfPart(this.#document, part) : undefined
    if (path === undefined) return undefined
    const located = locateField(locate(this.#document, path), field)
    const place = located.piece.place ?? this.#document
    if (typeof at === 'number') return positionAt(place, offsetWithin(place, located)(at))
    return positionAt(place, spanOfLocated(located, at ?? 'key').start)
  }

  excerptAt(position: Position): Excerpt | undefined {
    return position.file === this.#document.file
      ? excerptOfWord(this.#document, position)
      : undefined
  }
}

/** Keys may contain dots and brackets: the longest key that fits is followed. */
function locateField(outer: Located, field: string): Located {
  let located = outer
  let rest = field
  while (rest !== '' && located.isThere) {
    const step = firstStep(located, rest)
    located = locateStep(located, step.key)
    rest = rest.slice(step.length)
    if (rest.startsWith('.')) rest = rest.slice(1)
  }
  return located
}

interface Step {
  readonly key: PropertyKey
  readonly length: number
}

function firstStep({ own }: Located, field: string): Step {
  const [index, number] = /^\[(\d+)\]/.exec(field) ?? []
  if (index !== undefined && own.kind === 'list') {
    return { key: Number(number), length: index.length }
  }
  const keys = own.kind === 'mapping' ? own.entries.map(({ key }) => key) : []
  const fitting = keys
    .filter((key) => field.startsWith(key) && ['', '.', '['].includes(field.charAt(key.length)))
    .sort((a, b) => b.length - a.length)
  const [key = field] = fitting
  return { key, length: key.length }
}
