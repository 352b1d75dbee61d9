import { hkdfSync, randomBytes } from 'node:crypto'

const PERIOD = 6 * 60 * 60 * 1000
const LENGTH = 48

/**
 * Keys of session tickets. They follow from one secret and the time, so that all processes that
 * have the secret take each other's tickets, and a key that was stolen opens a few hours alone.
 */
export class TicketKeys {
  readonly #secret: Uint8Array
  readonly #period: number

  constructor(secret: Uint8Array = randomBytes(32), period = PERIOD) {
    this.#secret = secret
    this.#period = period
  }

  /** The number of the period that a moment is in: other number, other key. */
  epoch(now: number): number {
    return Math.floor(now / this.#period)
  }

  /** `scope`: where a ticket is good. */
  key(scope: string, epoch: number): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#secret, `${epoch}`, scope, LENGTH))
  }
}
