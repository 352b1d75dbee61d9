import type { Diagnostic, Origin } from '../../diagnostics/diagnostic.ts'
import type { Field, Message, Place } from '../../reach/checks/place.ts'
import {
  type Document,
  diagnosticOf,
  diagnosticOfLocated,
  hasPath,
  type Place as InText,
  locateIn,
  originOf,
  originOfLocated,
  type Path,
  type Piece,
} from './document.ts'

/** The value at a path of a document. */
export class FilePlace implements Place {
  readonly #document: Document
  readonly #path: Path

  constructor(document: Document, path: Path) {
    this.#document = document
    this.#path = path
  }

  /** The same path in another document, in the list item with this index. */
  in(document: Document, index: number): FilePlace {
    const path = this.#path[1] === index ? this.#path : this.#path.with(1, index)
    return new FilePlace(document, path)
  }

  get origin(): Origin {
    return originOf(this.#document, this.#path)
  }

  find(...fields: readonly Field[]): Place {
    for (const field of fields) {
      const path = [...this.#path, ...field]
      if (hasPath(this.#document, path)) return new FilePlace(this.#document, path)
    }
    return this
  }

  diagnose(message: Message, part: 'key' | 'value' = 'value'): Diagnostic {
    return diagnosticOf(this.#document, this.#path, message, part)
  }
}

/** The value at a path of a piece that has its own text, independent of the document around it. */
export class PiecePlace implements Place {
  readonly #text: InText
  readonly #piece: Piece
  readonly #path: Path

  constructor(text: InText, piece: Piece, path: Path) {
    this.#text = text
    this.#piece = piece
    this.#path = path
  }

  get origin(): Origin {
    return originOfLocated(this.#text, this.#located)
  }

  find(...fields: readonly Field[]): Place {
    for (const field of fields) {
      const path = [...this.#path, ...field]
      if (locateIn(this.#piece, path, 0).isThere) {
        return new PiecePlace(this.#text, this.#piece, path)
      }
    }
    return this
  }

  diagnose(message: Message, part: 'key' | 'value' = 'value'): Diagnostic {
    return diagnosticOfLocated(this.#text, this.#located, message, part)
  }

  get #located() {
    return locateIn(this.#piece, this.#path, 0)
  }
}
