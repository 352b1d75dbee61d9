import { hkdfSync, randomBytes } from 'node:crypto'

const PERIOD = 6 * 60 * 60 * 1000
const LENGTH = 48

/**
 * Keys of session tickets. They are derived from one secret and the time, so that all processes
 * with the secret accept each other's tickets, and a stolen key is useful for a few hours only.
 */
export class TicketKeys {
  readonly #secret: Uint8Array
  readonly #period: number

  constructor(secret: Uint8Array = randomBytes(32), period = PERIOD) {
    this.#secret = secret
    this.#period = period
  }

  /** The number of the period that contains `now`: each period has another key. */
  epoch(now: number): number {
    return Math.floor(now / this.#period)
  }

  /** `scope`: where a ticket is valid. */
  key(scope: string, epoch: number): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#secret, `${epoch}`, scope, LENGTH))
  }
}
