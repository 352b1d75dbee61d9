import type { Excerpt, Origin, PartOrigin, Position } from '../../diagnostics/diagnostic.ts'
import { originIn, type Places } from '../../diagnostics/places.ts'
import type { Model } from '../../model/model.ts'
import { originsIn } from '../../model/origins.ts'
import { excerptOfWord, lineStarts } from './document.ts'

/** The places of a Model that was read in a thread, whose document stays there. */
export interface PlaceTable {
  readonly file: string
  readonly text: string
  readonly positions: ReadonlyMap<string, Position>
}

export function tableOf(places: Places, model: Model, file: string, text: string): PlaceTable {
  const positions = new Map<string, Position>()
  const add = (origin: Origin) => {
    const position = origin.kind === 'part' ? places.find(origin) : undefined
    if (position !== undefined) positions.set(keyOf(origin as PartOrigin), position)
  }
  for (const origin of originsIn(model)) add(origin)
  for (const [origin, field] of rulesIn(model)) add(originIn(origin, field))
  return { file, text, positions }
}

/** Rules have no origin, but a field within that of their policy. */
function* rulesIn(value: unknown): Generator<readonly [policy: Origin, field: string], void> {
  if (typeof value !== 'object' || value === null) return
  if ('state' in value && 'origin' in value && 'value' in value) {
    const { rules } = (value.value ?? {}) as { readonly rules?: unknown }
    if (!Array.isArray(rules)) return
    for (const { field } of rules) {
      if (typeof field === 'string') yield [value.origin as Origin, field]
    }
  } else for (const member of Object.values(value)) yield* rulesIn(member)
}

export class TablePlaces implements Places {
  readonly #table: PlaceTable

  constructor(table: PlaceTable) {
    this.#table = table
  }

  find(origin: PartOrigin): Position | undefined {
    const { positions } = this.#table
    for (let { field } = origin; ; field = field.slice(0, lastStep(field))) {
      const position = positions.get(keyOf({ ...origin, field }))
      if (position !== undefined || field === '') return position
    }
  }

  excerptAt(position: Position): Excerpt | undefined {
    const { file, text } = this.#table
    if (position.file !== file) return undefined
    return excerptOfWord({ file, text, lines: lineStarts(text) }, position)
  }
}

function lastStep(field: string): number {
  return Math.max(0, field.lastIndexOf('.'), field.lastIndexOf('['))
}

function keyOf({ file, part, field }: PartOrigin): string {
  return JSON.stringify([file, part, field])
}
