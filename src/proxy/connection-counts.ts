import type { Source } from '../exchange/connection.ts'
import type { QuotaLimit, QuotaRejection, Quotas } from '../exchange/quota.ts'
import { descriptorLimit } from './descriptors.ts'

export interface CountLimits {
  readonly connections: number
  readonly connectionsPerAddress: number
}

/** Descriptors for files, listeners, logs and the admin API. */
const RESERVED = 64

/** The names of limits that processes share. */
const ALL = 'connections'
const BY_ADDRESS = 'connections-per-address'

/**
 * Counts connections, in total and by address; shared by all ports, and by all processes that serve
 * the gateway.
 */
export class ConnectionCounts {
  readonly limits: CountLimits
  readonly #quotas: Quotas | undefined
  readonly #all: QuotaLimit
  readonly #each: QuotaLimit
  #total = 0
  readonly #byAddress = new Map<string, number>()

  /**
   * The limit never exceeds the available descriptors: an accepted connection needs another one to
   * its upstream, and without it the client could only get an error.
   */
  constructor(limits: CountLimits, descriptors = descriptorLimit(), quotas?: Quotas) {
    const max = Math.max(1, Math.floor((descriptors - RESERVED) / 2))
    this.limits = { ...limits, connections: Math.min(limits.connections, max) }
    this.#quotas = quotas
    this.#all = atOnce(limits.connections)
    this.#each = atOnce(limits.connectionsPerAddress)
  }

  get total(): number {
    return this.#total
  }

  get addresses(): number {
    return this.#byAddress.size
  }

  /** Counts a connection if the limit allows; asynchronous if other processes must be queried. */
  enter(): boolean | Promise<boolean> {
    if (this.#total >= this.limits.connections) return false
    this.#total++
    const taken = this.#quotas?.take([{ quota: ALL, limit: this.#all, key: '' }])
    const isIn = (rejection: QuotaRejection | undefined) => {
      if (rejection !== undefined) this.#total--
      return rejection === undefined
    }
    return taken instanceof Promise ? taken.then(isIn) : isIn(taken)
  }

  leave(): void {
    this.#total--
    this.#quotas?.give(ALL, '')
  }

  /** The same for its address; returns the key for `leaveFrom`, or undefined at the limit. */
  enterFrom(source: Source): string | undefined | Promise<string | undefined> {
    const key = keyOf(source)
    const count = this.#byAddress.get(key) ?? 0
    if (count >= this.limits.connectionsPerAddress) return undefined
    this.#byAddress.set(key, count + 1)
    const taken = this.#quotas?.take([{ quota: BY_ADDRESS, limit: this.#each, key }])
    const isIn = (rejection: QuotaRejection | undefined) => {
      if (rejection === undefined) return key
      this.#left(key)
      return undefined
    }
    return taken instanceof Promise ? taken.then(isIn) : isIn(taken)
  }

  leaveFrom(key: string): void {
    this.#left(key)
    this.#quotas?.give(BY_ADDRESS, key)
  }

  #left(key: string): void {
    const count = this.#byAddress.get(key) ?? 0
    if (count > 1) this.#byAddress.set(key, count - 1)
    else this.#byAddress.delete(key)
  }
}

/** Taken tokens are given back: nothing is refilled, and there are as many keys as connections. */
function atOnce(capacity: number): QuotaLimit {
  const never = Number.POSITIVE_INFINITY
  return { capacity, refill: 0, interval: never, maxKeys: never }
}

/** A client with an IPv6 address has all 2^64 addresses of its network: they count as one. */
function keyOf({ address }: Source): string {
  return address.family === 4 ? address.text : `${address.w0}:${address.w1}`
}
