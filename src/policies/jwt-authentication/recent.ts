import type { Verified } from './verify.ts'

/** Must be a power of two. */
const PLACES = 64
/** Signatures are random, so their last characters distinguish most tokens. */
const TAIL = 4

interface Recent {
  readonly token: string
  readonly verified: Verified
}

/**
 * The few most recently repeated tokens, as strings: comparing one costs a tenth of hashing it.
 * There are no more of them than active requests have in memory anyway.
 */
export class RecentTokens {
  readonly #places: (Recent | undefined)[] = new Array(PLACES).fill(undefined)

  get(token: string, now: number): Verified | undefined {
    const place = placeOf(token)
    const known = this.#places[place]
    if (known === undefined || known.token !== token) return undefined
    const { verified } = known
    if (now < verified.until && verified.source.current === verified.keys) return verified
    this.#places[place] = undefined
    return undefined
  }

  /** Only for tokens seen before: a token that occurs once gains nothing. */
  set(token: string, verified: Verified): void {
    // A copy: a slice would retain the whole head.
    const own = Buffer.from(token, 'latin1').toString('latin1')
    this.#places[placeOf(token)] = { token: own, verified }
  }
}

function placeOf(token: string): number {
  let sum = 0
  for (let at = token.length - TAIL; at < token.length; at++) sum = sum * 31 + token.charCodeAt(at)
  return sum & (PLACES - 1)
}
