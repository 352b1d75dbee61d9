import type { Diagnostic, Origin } from '../../diagnostics/diagnostic.ts'
import type { Field, Message, Place } from '../../reach/checks/place.ts'
import { type Document, diagnosticAt, hasPath, originOf, type Path, spanOf } from './document.ts'

/** What was written at a path of a document. */
export class FilePlace implements Place {
  readonly #document: Document
  readonly #path: Path

  constructor(document: Document, path: Path) {
    this.#document = document
    this.#path = path
  }

  /** The same path in another document. */
  in(document: Document): FilePlace {
    return new FilePlace(document, this.#path)
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
    return diagnosticAt(this.#document, spanOf(this.#document, this.#path, part), message)
  }
}
