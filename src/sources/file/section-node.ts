import type { Diagnostic, Origin } from '../../diagnostics/diagnostic.ts'
import type { Message } from '../../reach/checks/place.ts'
import {
  type Document,
  type Located,
  locateRoot,
  locateStep,
  originBeyond,
  type Path,
  type Piece,
  type PieceList,
  type Place,
  pieceAt,
  type Span,
  spanOfLocated,
} from './document.ts'
import { diagnosticOfLocated, FilePlace, PiecePlace } from './file-place.ts'
import { partOrigin } from './part-names.ts'

/**
 * A part of a document while it is read: each reader gets its own node and descends from there. It
 * holds the tree of its piece; longer-lived objects keep a `place`, which finds it again.
 */
export class SectionNode {
  readonly document: Document
  /** The plain value; undefined if missing. For a list of pieces, an array without the items. */
  readonly value: unknown
  readonly #outer: SectionNode | undefined
  readonly #step: PropertyKey
  readonly #piece: Piece
  /** The items, if each is a separate piece. */
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

  /** Descends to an inner node, whether or not it exists. */
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

  /** The key or index within the outer node. */
  get step(): PropertyKey {
    return this.#step
  }

  /** The enclosing node; the root returns itself. */
  get outer(): SectionNode {
    return this.#outer ?? this
  }

  get path(): Path {
    return this.#outer === undefined ? [] : [...this.#outer.path, this.#step]
  }

  get isThere(): boolean {
    return this.#located.isThere
  }

  /** Whether the value contains expanded variables, which an excerpt would reveal. */
  get isExpanded(): boolean {
    const { expanded } = this.#piece
    return expanded.size > 0 && expanded.has(this.#located.node)
  }

  /** The origin of its key if it has one, otherwise of the value. */
  get origin(): Origin {
    const { object } = this.#piece
    if (object !== undefined) return { kind: 'object', object, field: this.#field }
    const { where } = this
    const beyond = where.beyond && originBeyond(where, this.span('key').start)
    return beyond ?? this.#written
  }

  /** Maps an offset within the value of a scalar to its origin. */
  get originInside(): (offset: number) => Origin {
    return (offset) => {
      const { origin } = this
      return origin.kind === 'part' ? { ...origin, at: offset } : origin
    }
  }

  diagnose(message: Message, part: 'key' | 'value' = 'value'): Diagnostic {
    return diagnosticOfLocated(this.document, this.#located, message, part, this.#written)
  }

  /** The list item around it. */
  get #item(): SectionNode {
    return this.#depth > 2 ? this.outer.#item : this
  }

  get #depth(): number {
    return this.#outer === undefined ? 0 : 1 + this.#outer.#depth
  }

  get #written(): Origin {
    return partOrigin(this.document, this.path, () => this.#item.value)
  }

  /** For lookups after everything is read. */
  get place(): FilePlace | PiecePlace {
    const { place } = this.#piece
    if (place === undefined) return new FilePlace(this.document, this.path)
    const inner = this.#pathInPiece
    const { path } = this
    const whole = partOrigin(this.document, path.slice(0, path.length - inner.length))
    return new PiecePlace(place, this.#piece, inner, whole)
  }

  /** The place that its spans refer to. */
  get where(): Place {
    return this.#piece.place ?? this.document
  }

  get #pathInPiece(): Path {
    const outer = this.#outer
    if (outer === undefined || outer.#piece !== this.#piece) return []
    return [...outer.#pathInPiece, this.#step]
  }

  /** The span of the node, or of its nearest existing ancestor. */
  span(part: 'key' | 'value'): Span {
    return spanOfLocated(this.#located, part)
  }

  /** The field in a piece that is not in a file: of the node, or its nearest existing ancestor. */
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
