import type { Verified } from './verify.ts'

/** A power of two. */
const PLACES = 64
/** Signatures are random, and their last characters are enough to tell most tokens apart. */
const TAIL = 4

interface Recent {
  readonly token: string
  readonly verified: Verified
}

/**
 * The few tokens that come again and again, as they are: to compare one costs a tenth of its
 * digest. No more of them are kept than requests under way have in memory anyway.
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

  /** For one that was seen before: what comes once is of no use here. */
  set(token: string, verified: Verified): void {
    // A copy: a part of a head would keep the whole of it.
    const own = Buffer.from(token, 'latin1').toString('latin1')
    this.#places[placeOf(token)] = { token: own, verified }
  }
}

function placeOf(token: string): number {
  let sum = 0
  for (let at = token.length - TAIL; at < token.length; at++) sum = sum * 31 + token.charCodeAt(at)
  return sum & (PLACES - 1)
}
