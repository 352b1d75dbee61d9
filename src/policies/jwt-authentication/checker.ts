import type { KeySet } from '../key-sets.ts'
import { digestOf, TokenCache } from './cache.ts'
import { type FetchKeys, keyFetcher } from './fetch-keys.ts'
import { fixedKeys, type KeyFault, type KeySource, parseKeys } from './keys.ts'
import { RecentTokens } from './recent.ts'
import { isRejection, type Rejection, reject } from './rejection.ts'
import { type Refresh, type RemoteClock, RemoteKeys, SYSTEM_CLOCK } from './remote.ts'
import type { JwtAuthentication } from './schema.ts'
import { MAX_TOKEN } from './token.ts'
import { type Providers, providersByIssuer, type Verified, verifyToken } from './verify.ts'

/** External dependencies of verification. */
export interface JwtDeps {
  /** Milliseconds since 1970. */
  readonly date: () => number
  readonly fetch: FetchKeys
  readonly clock: RemoteClock
  readonly refreshed?: (issuer: string, refresh: Refresh) => void
  readonly tokenLookedUp?: (isKnown: boolean) => void
}

export const SYSTEM_DEPS: JwtDeps = {
  date: Date.now,
  fetch: keyFetcher(),
  clock: SYSTEM_CLOCK,
}

/**
 * State that lives as long as a policy is unchanged: its keys, and the tokens that they verified.
 */
export class TokenChecker {
  readonly cache = new TokenCache()
  /** By issuer, to report their age. */
  readonly remotes: readonly (readonly [issuer: string, keys: RemoteKeys])[]
  /** Configured keys that cannot be used. */
  readonly faults: readonly (readonly [issuer: string, fault: KeyFault])[]
  /** Configured issuers without any usable key. */
  readonly keyless: readonly string[]
  readonly #providers: Providers
  readonly #date: () => number
  readonly #lookedUp: ((isKnown: boolean) => void) | undefined
  readonly #recent = new RecentTokens()

  constructor({ providers }: Pick<JwtAuthentication, 'providers'>, policyDeps: JwtDeps) {
    const opened = providers.map(({ jwks, ...provider }) => ({
      ...provider,
      keys: openKeys(provider.issuer, jwks, policyDeps),
    }))
    this.remotes = opened.flatMap(({ issuer, keys }) =>
      keys instanceof RemoteKeys ? [[issuer, keys] as const] : [],
    )
    this.faults = opened.flatMap(({ issuer, keys }) =>
      (keys.current?.faults ?? []).map((fault) => [issuer, fault] as const),
    )
    this.keyless = opened.flatMap(({ issuer, keys }) =>
      keys instanceof RemoteKeys || (keys.current?.byKid.size ?? 0) > 0 ? [] : [issuer],
    )
    this.#providers = providersByIssuer(opened)
    this.#date = policyDeps.date
    this.#lookedUp = policyDeps.tokenLookedUp
  }

  check(token: string): Verified | Rejection {
    if (token.length > MAX_TOKEN) return TOO_LARGE
    const now = this.#date()
    const recent = this.#recent.get(token, now)
    if (recent !== undefined) {
      this.#lookedUp?.(true)
      return recent
    }
    const digest = digestOf(token)
    const known = this.cache.get(digest, now)
    this.#lookedUp?.(known !== undefined)
    if (known !== undefined) {
      this.#recent.set(token, known)
      return known
    }
    const outcome = verifyToken(token, this.#providers, now)
    if (!isRejection(outcome)) this.cache.set(digest, outcome)
    return outcome
  }

  get remembered(): number {
    return this.cache.size
  }

  get issuers(): readonly string[] {
    return this.remotes.map(([issuer]) => issuer)
  }

  *keyAges(): Generator<readonly [issuer: string, seconds: number]> {
    for (const [issuer, keys] of this.remotes) {
      const { age } = keys.status()
      if (age !== undefined) yield [issuer, age / 1000]
    }
  }

  /** Stops fetching keys; verified tokens stay valid. */
  close(): void {
    for (const [, keys] of this.remotes) keys.close()
  }
}

const TOO_LARGE = reject('too-large', `longer than ${MAX_TOKEN} characters`)

/** `issuer`: the label in metrics. */
export function openKeys(issuer: string, jwks: KeySet, policyDeps: JwtDeps): KeySource {
  if (jwks.kind === 'local') return fixedKeys(parseKeys(jwks.keys.text))
  const { url, cacheDuration } = jwks
  const { fetch, clock, refreshed } = policyDeps
  const observe = (refresh: Refresh) => refreshed?.(issuer, refresh)
  return new RemoteKeys({ url, cacheDuration, fetch, clock, observe })
}
