import type { Diagnostic, Origin, PartOrigin } from '../../diagnostics/diagnostic.ts'
import { originIn } from '../../diagnostics/places.ts'
import type { Field, Message, Place } from '../../reach/checks/place.ts'
import {
  type Document,
  diagnosticAt,
  type Place as InText,
  type Located,
  locate,
  locateIn,
  originBeyond,
  type Path,
  type Piece,
  spanOfLocated,
} from './document.ts'
import { fieldOf, partOrigin } from './part-names.ts'

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
    const document = this.#document
    const beyond = document.beyond && originOfLocated(document, this.#located, 'key')
    return beyond ?? partOrigin(document, this.#path)
  }

  find(...fields: readonly Field[]): Place {
    for (const field of fields) {
      const path = [...this.#path, ...field]
      if (locate(this.#document, path).isThere) return new FilePlace(this.#document, path)
    }
    return this
  }

  diagnose(message: Message, part: 'key' | 'value' = 'value'): Diagnostic {
    const origin = partOrigin(this.#document, this.#path)
    return diagnosticOfLocated(this.#document, this.#located, message, part, origin)
  }

  get #located(): Located {
    return locate(this.#document, this.#path)
  }
}

/** The value at a path of a piece that has its own text, independent of the document around it. */
export class PiecePlace implements Place {
  readonly #text: InText
  readonly #piece: Piece
  readonly #path: Path
  /** The origin of the piece. */
  readonly #whole: Origin

  constructor(text: InText, piece: Piece, path: Path, whole: Origin) {
    this.#text = text
    this.#piece = piece
    this.#path = path
    this.#whole = whole
  }

  get origin(): Origin {
    return originOfLocated(this.#text, this.#located, 'key') ?? this.#written
  }

  find(...fields: readonly Field[]): Place {
    for (const field of fields) {
      const path = [...this.#path, ...field]
      if (locateIn(this.#piece, path, 0).isThere) {
        return new PiecePlace(this.#text, this.#piece, path, this.#whole)
      }
    }
    return this
  }

  diagnose(message: Message, part: 'key' | 'value' = 'value'): Diagnostic {
    return diagnosticOfLocated(this.#text, this.#located, message, part, this.#written)
  }

  get #written(): Origin {
    return originIn(this.#whole, fieldOf(this.#path))
  }

  get #located(): Located {
    return locateIn(this.#piece, this.#path, 0)
  }
}

/** The origin if it is not in the file. */
function originOfLocated(text: InText, located: Located, part: 'key' | 'value') {
  return originBeyond(located.piece.place ?? text, spanOfLocated(located, part).start)
}

/** A diagnostic about a key or a value; `origin`: that of the key, if it is in the file. */
export function diagnosticOfLocated(
  text: InText,
  located: Located,
  message: Message,
  part: 'key' | 'value',
  origin: Origin,
): Diagnostic {
  const place = located.piece.place ?? text
  const span = spanOfLocated(located, part)
  const beyond = originBeyond(place, span.start)
  return diagnosticAt(place, span, message, beyond ?? at(origin, part))
}

function at(origin: Origin, part: 'key' | 'value'): Origin {
  return origin.kind === 'part' && part === 'value'
    ? ({ ...origin, at: 'value' } satisfies PartOrigin)
    : origin
}
