import type { Source } from '../exchange/connection.ts'
import { descriptorLimit } from './descriptors.ts'

export interface CountLimits {
  readonly connections: number
  readonly connectionsPerAddress: number
}

/** Descriptors for files, listeners, logs and the admin API. */
const RESERVED = 64

/** How many connections there are, in all and from each address; shared by all ports. */
export class ConnectionCounts {
  readonly limits: CountLimits
  #total = 0
  readonly #byAddress = new Map<string, number>()

  /**
   * No more than the process has descriptors for: a connection that is taken needs another one to
   * its upstream, and without one it could only be answered with an error.
   */
  constructor(limits: CountLimits, descriptors = descriptorLimit()) {
    const most = Math.max(1, Math.floor((descriptors - RESERVED) / 2))
    this.limits = { ...limits, connections: Math.min(limits.connections, most) }
  }

  get total(): number {
    return this.#total
  }

  get addresses(): number {
    return this.#byAddress.size
  }

  /** Counts one more, unless there are as many as there may be. */
  enter(): boolean {
    if (this.#total >= this.limits.connections) return false
    this.#total++
    return true
  }

  leave(): void {
    this.#total--
  }

  /** The same for its address; answers the key to leave by, or undefined where it is too many. */
  enterFrom(source: Source): string | undefined {
    const key = keyOf(source)
    const count = this.#byAddress.get(key) ?? 0
    if (count >= this.limits.connectionsPerAddress) return undefined
    this.#byAddress.set(key, count + 1)
    return key
  }

  leaveFrom(key: string): void {
    const count = this.#byAddress.get(key) ?? 0
    if (count > 1) this.#byAddress.set(key, count - 1)
    else this.#byAddress.delete(key)
  }
}

/** Whoever has one address of IPv6 has the 2^64 beside it too: they count as one. */
function keyOf({ address }: Source): string {
  return address.family === 4 ? address.text : `${address.w0}:${address.w1}`
}
