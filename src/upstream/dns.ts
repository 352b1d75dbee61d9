import type { DnsSettings } from '../model/settings.ts'
import { type Address, inTurn, literalAddress } from './addresses.ts'
import type { Families, NameSource } from './name-source.ts'

/** The addresses of a name, or why there are none. */
export type Resolution = readonly Address[] | 'dns' | 'dns-no-name'

export type LookupOutcome = 'found' | 'empty' | 'error' | 'timeout'

export interface ResolverOptions {
  readonly source: NameSource
  readonly now?: () => number
  readonly random?: () => number
  /** Max cached names; beyond it, the names that were added first are evicted. */
  readonly max?: number
  readonly observe?: (outcome: LookupOutcome) => void
}

/** The min TTL: shorter ones would make every connection wait. */
const MIN_TTL = 1_000
const MAX_TTL = 3_600_000
const NEGATIVE = 5_000
const FAILED = 2_000
const SLOWEST_RETRY = 30_000
/** How long addresses are used that no name server confirms. */
const STALE_WHILE_FAILING = 3_600_000
const STALE_WHILE_ABSENT = 30_000

/** Has connections to the addresses of a name. */
export interface Follower {
  /**
   * Whether it has connections now: then the name is resolved again whenever its DNS answer
   * expires.
   */
  isActive(): boolean
  /** Called after each answer with the addresses that are still good. */
  follow(addresses: readonly string[]): void
}

class Name {
  readonly name: string
  /** The last answer of a name server. */
  answered: readonly Address[] = []
  resolution: Resolution = 'dns'
  /** When the last answer with addresses arrived, and until when the resolution is valid. */
  knownAt = Number.NEGATIVE_INFINITY
  expiresAt = Number.NEGATIVE_INFINITY
  failures = 0
  /** Requested since the last lookup: refreshed before it expires. */
  isUsed = true
  shouldRefresh = false
  turn = 0
  pending: Promise<Resolution> | undefined = undefined
  timer: NodeJS.Timeout | undefined = undefined

  constructor(name: string) {
    this.name = name
  }
}

/**
 * Caches names for the TTL of DNS answers and refreshes names in use before they expire, so that
 * no request waits for the same name twice. Failing name servers change nothing: good addresses
 * stay in use.
 */
export class Resolver {
  readonly #families: Families
  readonly #lookupFamily: DnsSettings['lookupFamily']
  readonly #source: NameSource
  readonly #now: () => number
  readonly #random: () => number
  readonly #max: number
  readonly #observe: (outcome: LookupOutcome) => void
  readonly #names = new Map<string, Name>()
  readonly #followers = new Map<string, Set<Follower>>()
  #isClosed = false

  constructor({ lookupFamily }: DnsSettings, options: ResolverOptions) {
    this.#lookupFamily = lookupFamily
    this.#families = FAMILIES[lookupFamily]
    this.#source = options.source
    this.#now = options.now ?? (() => performance.now())
    this.#random = options.random ?? Math.random
    this.#max = options.max ?? 10_000
    this.#observe = options.observe ?? (() => {})
  }

  get size(): number {
    return this.#names.size
  }

  /** Synchronous if the name is known; addresses are in the order in which to try them. */
  resolve(host: string): Resolution | Promise<Resolution> {
    const literal = literalAddress(host)
    if (literal !== undefined) return [literal]
    const name = this.#nameOf(host.toLowerCase())
    name.isUsed = true
    const isKnown = typeof name.resolution !== 'string' || name.expiresAt > this.#now()
    if (!isKnown) {
      return (name.pending ?? this.#lookUp(name)).then((found) => this.#ordered(name, found))
    }
    if (name.shouldRefresh && name.pending === undefined) this.#lookUp(name)
    return this.#ordered(name, name.resolution)
  }

  /** Returns a function that ends it. Literal addresses need no following. */
  follow(host: string, follower: Follower): () => void {
    if (literalAddress(host) !== undefined) return () => {}
    const key = host.toLowerCase()
    const own = this.#followers.get(key) ?? new Set()
    this.#followers.set(key, own.add(follower))
    return () => {
      own.delete(follower)
      if (own.size === 0 && this.#followers.get(key) === own) this.#followers.delete(key)
    }
  }

  close(): void {
    this.#isClosed = true
    for (const name of this.#names.values()) clearTimeout(name.timer)
    this.#names.clear()
    this.#source.close()
  }

  #nameOf(key: string): Name {
    const known = this.#names.get(key)
    if (known !== undefined) return known
    for (const [oldest, { timer }] of this.#names) {
      if (this.#names.size < this.#max) break
      clearTimeout(timer)
      this.#names.delete(oldest)
    }
    const name = new Name(key)
    this.#names.set(key, name)
    return name
  }

  #ordered(name: Name, resolution: Resolution): Resolution {
    if (typeof resolution === 'string') return resolution
    return inTurn(resolution, this.#lookupFamily, name.turn++)
  }

  #lookUp(name: Name): Promise<Resolution> {
    name.shouldRefresh = false
    name.isUsed = false
    name.pending = this.#source.find(name.name, this.#families).then(
      ({ addresses, ttl }) => this.#learn(name, addresses, ttl),
      (error: NodeJS.ErrnoException) => this.#fail(name, error),
    )
    return name.pending
  }

  #learn(name: Name, addresses: readonly Address[], ttl: number): Resolution {
    this.#observe(addresses.length > 0 ? 'found' : 'empty')
    if (addresses.length > 0) {
      name.resolution = addresses
      name.knownAt = this.#now()
      name.failures = 0
      this.#report(name, addresses)
      return this.#keep(name, Math.min(MAX_TTL, Math.max(MIN_TTL, ttl)))
    }
    if (!this.#isStale(name, STALE_WHILE_ABSENT)) name.resolution = 'dns-no-name'
    return this.#keep(name, NEGATIVE)
  }

  /**
   * A family that is missing once may only be late (RFC 8305 §3): its addresses stay valid until
   * they are missing twice in a row.
   */
  #report(name: Name, addresses: readonly Address[]): void {
    const late = name.answered.filter(
      ({ family }) => !addresses.some((one) => one.family === family),
    )
    const good = [...addresses, ...late].map(({ address }) => address)
    name.answered = addresses
    for (const follower of this.#followers.get(name.name) ?? []) follower.follow(good)
  }

  #isFollowed({ name }: Name): boolean {
    for (const follower of this.#followers.get(name) ?? []) if (follower.isActive()) return true
    return false
  }

  #fail(name: Name, { code }: NodeJS.ErrnoException): Resolution {
    this.#observe(code === 'ETIMEOUT' ? 'timeout' : 'error')
    if (!this.#isStale(name, STALE_WHILE_FAILING)) name.resolution = 'dns'
    const wait = FAILED * 2 ** Math.min(10, name.failures++)
    return this.#keep(name, typeof name.resolution === 'string' ? FAILED : wait)
  }

  #isStale(name: Name, max: number): boolean {
    return typeof name.resolution !== 'string' && this.#now() - name.knownAt < max
  }

  #keep(name: Name, lifetime: number): Resolution {
    name.pending = undefined
    name.expiresAt = this.#now() + lifetime
    if (this.#isClosed || this.#names.get(name.name) !== name) return name.resolution
    // Jitter: many names learned at once must not be looked up at once, again and again.
    const share = typeof name.resolution === 'string' ? 1 : 0.75 + 0.2 * this.#random()
    const isFailing = name.failures > 0 && typeof name.resolution !== 'string'
    const wait = isFailing ? Math.min(SLOWEST_RETRY, lifetime) * share : lifetime * share
    this.#after(name, wait, () => this.#onDue(name))
    return name.resolution
  }

  #onDue(name: Name): void {
    const isNeeded = name.isUsed || this.#isFollowed(name)
    if (typeof name.resolution !== 'string' && isNeeded) {
      this.#lookUp(name)
      return
    }
    name.shouldRefresh = true
    const left = Math.max(0, name.expiresAt - this.#now())
    this.#after(name, left, () => {
      if (name.pending === undefined) this.#names.delete(name.name)
    })
  }

  #after(name: Name, wait: number, act: () => void): void {
    clearTimeout(name.timer)
    name.timer = setTimeout(act, wait).unref()
  }
}

const FAMILIES: Readonly<Record<DnsSettings['lookupFamily'], Families>> = {
  All: { wanted: [6, 4], onlyReachable: false },
  Auto: { wanted: [6, 4], onlyReachable: true },
  V4Preferred: { wanted: [4, 6], onlyReachable: false },
  V4Only: { wanted: [4], onlyReachable: false },
  V6Only: { wanted: [6], onlyReachable: false },
}
