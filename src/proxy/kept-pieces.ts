import { HeldBytes } from '../wire/held-bytes.ts'

/** Bytes up to which pieces are joined. */
const SMALL = 8_192

/**
 * Pieces of a body that wait in memory. What a client sends byte by byte, in chunks of one each,
 * is joined: every piece on its own costs a hundred times as much as there is in it.
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
