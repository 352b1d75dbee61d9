import type { Origin } from '../../diagnostics/diagnostic.ts'
import {
  type Document,
  type Located,
  locateRoot,
  locateStep,
  originAt,
  originWithin,
  type Path,
  type Piece,
  type PieceList,
  type Place,
  pieceAt,
  type Span,
  spanOfLocated,
} from './document.ts'
import { FilePlace, PiecePlace } from './file-place.ts'

/**
 * A part of a document while it is read: each reader is handed its own, and goes on from there. It
 * holds the tree of its piece; what is kept for later keeps a `place`, which finds it again.
 */
export class SectionNode {
  readonly document: Document
  /** The plain value; undefined where there is none. Of a list of pieces, its length. */
  readonly value: unknown
  readonly #outer: SectionNode | undefined
  readonly #step: PropertyKey
  readonly #piece: Piece
  /** The items, where each is a piece of its own. */
  readonly #list: PieceList | undefined
  #found: Located | undefined

  static of(document: Document): SectionNode {
    return new SectionNode(document, document.value, undefined, '', document, undefined)
  }

  private constructor(
    document: Document,
    value: unknown,
    outer: SectionNode | undefined,
    step: PropertyKey,
    piece: Piece,
    list: PieceList | undefined,
  ) {
    this.document = document
    this.value = value
    this.#outer = outer
    this.#step = step
    this.#piece = piece
    this.#list = list
  }

  /** What stands further in, whether or not there is anything. */
  inner(...steps: Path): SectionNode {
    let node: SectionNode = this
    for (let i = 0; i < steps.length; i++) node = node.#next(steps[i] as PropertyKey)
    return node
  }

  #next(step: PropertyKey): SectionNode {
    const { document, value } = this
    const list = this.#outer === undefined ? document.lists.get(step) : undefined
    if (list !== undefined) {
      const items = Array.from({ length: list.length })
      return new SectionNode(document, items, this, step, this.#piece, list)
    }
    if (this.#list !== undefined) {
      const piece = pieceAt(this.#list, step)
      return new SectionNode(document, piece?.value, this, step, piece ?? this.#piece, undefined)
    }
    const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, step)
    const own = isThere ? (value as Record<PropertyKey, unknown>)[step] : undefined
    return new SectionNode(document, own, this, step, this.#piece, undefined)
  }

  /** The key or number that it has in what is around it. */
  get step(): PropertyKey {
    return this.#step
  }

  /** What it is a part of. */
  get outer(): SectionNode {
    return this.#outer ?? this
  }

  get path(): Path {
    return this.#outer === undefined ? [] : [...this.#outer.path, this.#step]
  }

  get isThere(): boolean {
    return this.#located.isThere
  }

  /** Whether what is shown of the value would show a variable's value with it. */
  get isExpanded(): boolean {
    const { expanded } = this.#piece
    return expanded.size > 0 && expanded.has(this.#located.node)
  }

  /** Where it begins: at its key where it has one. */
  get origin(): Origin {
    const { object } = this.#piece
    if (object !== undefined) return { kind: 'object', object, field: this.#field }
    return originAt(this.where, this.span('key').start)
  }

  /** The origin of an offset within the value of a scalar. */
  get originInside(): (offset: number) => Origin {
    if (this.#piece.object !== undefined) return () => this.origin
    return originWithin(this.where, this.#located)
  }

  /** For whoever asks when all is read. */
  get place(): FilePlace | PiecePlace {
    const { place } = this.#piece
    if (place === undefined) return new FilePlace(this.document, this.path)
    return new PiecePlace(place, this.#piece, this.#pathInPiece)
  }

  /** What its spans are of. */
  get where(): Place {
    return this.#piece.place ?? this.document
  }

  get #pathInPiece(): Path {
    const outer = this.#outer
    if (outer === undefined || outer.#piece !== this.#piece) return []
    return [...outer.#pathInPiece, this.#step]
  }

  /** Of what is there, or of the nearest that is there around it. */
  span(part: 'key' | 'value'): Span {
    return spanOfLocated(this.#located, part)
  }

  /** Within a piece that is in no file: of what is there, or of the nearest around it. */
  get #field(): string {
    const outer = this.#outer
    if (outer === undefined || outer.#list !== undefined) return ''
    const around = outer.#field
    if (this.value === undefined) return around
    const step = String(this.#step)
    if (Array.isArray(outer.value)) return `${around}[${step}]`
    return around === '' ? step : `${around}.${step}`
  }

  get #located(): Located {
    this.#found ??= this.#locate()
    return this.#found
  }

  #locate(): Located {
    const outer = this.#outer
    if (outer === undefined) return locateRoot(this.#piece)
    if (outer.#list === undefined) return locateStep(outer.#located, this.#step)
    const isItem = this.#piece !== outer.#piece
    return isItem ? locateRoot(this.#piece) : { ...outer.#located, isThere: false }
  }
}
