import { HeldBytes } from '../wire/held-bytes.ts'

/** Pieces are joined up to this many bytes. */
const SMALL = 8_192

/**
 * Pieces of a body that wait in memory. Tiny pieces, such as chunks of one byte each, are joined: a
 * separate piece costs a hundred times as much as its content.
 */
export class KeptPieces {
  #whole: Buffer[] = []
  readonly #last = new HeldBytes()

  add(bytes: Buffer): void {
    const last = this.#last
    if (last.length > 0 && last.length + bytes.length > SMALL) this.#whole.push(last.take())
    last.hold(last.join(bytes), 0)
  }

  all(): readonly Buffer[] {
    if (this.#last.length > 0) this.#whole.push(this.#last.take())
    return this.#whole
  }

  clear(): void {
    this.#whole = []
    this.#last.clear()
  }
}
