import { isOfSet, type NameSet, nameSet } from './field-lines.ts'
import { HIDDEN, TRAILER } from './field-names.ts'
import { type Fields, fieldName, firstOf } from './fields.ts'
import { reject } from './rejections.ts'

/** How headers with underscores in their names are handled. */
export type Underscores = 'Auto' | 'Allow' | 'Drop' | 'Reject'

/** The headers that rules read, in lower case as the rules spell them; or all. */
export interface NamesRead {
  readonly names: ReadonlySet<string>
  readonly all: boolean
}

export interface NameOptions {
  readonly underscores: Underscores
  readonly forwardsTrailers: boolean
}

/**
 * Many servers pass headers to applications as variables, in which `x_role` and `x-role` are one
 * name, and some merge trailers into headers. A client must not be able to show different values to
 * a rule and to the backend, so fields that could be mistaken for a header that a rule reads are
 * not forwarded.
 */
export class RequestNames {
  readonly #underscores: Underscores
  readonly #forwardsTrailers: boolean
  readonly #read: NamesRead
  readonly #folded: NameSet
  /** No rule reads a name with an underscore, so only names with underscores can be mistaken. */
  readonly #isDashed: boolean

  constructor({ underscores, forwardsTrailers }: NameOptions, read: NamesRead = NONE_READ) {
    this.#underscores = underscores
    this.#forwardsTrailers = forwardsTrailers
    this.#read = read
    this.#folded = nameSet([...read.names])
    this.#isDashed = ![...read.names].some((name) => name.includes('_'))
  }

  /** Hides dropped headers. Returns 1 or a rejection. */
  checkHeaders(fields: Fields): number {
    if (!this.#forwardsTrailers) hideTrailerNames(fields)
    if (this.#underscores === 'Allow') return 1
    const looksAtAll = this.#underscores === 'Auto' && !this.#isDashed
    // Most heads have no underscore, and this is the fastest check.
    if (!looksAtAll && !fields.text.includes('_')) return 1
    for (let i = 0; i < fields.count; i++) {
      if ((fields.kinds[i] as number) >= HIDDEN || !this.#isMistakable(fields, i)) continue
      if (this.#underscores !== 'Drop') return reject('ambiguous-header-name')
      fields.kinds[i] = HIDDEN
    }
    return 1
  }

  /** Hides the trailers that are not forwarded. */
  readonly filterTrailers = (trailers: Fields): void => {
    for (let i = 0; i < trailers.count; i++) {
      const isRead = this.#read.all || isOfSet(this.#folded, trailers, i)
      const isHidden = isRead || (this.#underscores !== 'Allow' && this.#isMistakable(trailers, i))
      if (isHidden || !this.#forwardsTrailers) trailers.kinds[i] = HIDDEN
    }
  }

  #isMistakable(fields: Fields, index: number): boolean {
    if (this.#underscores !== 'Auto') return fieldName(fields, index).includes('_')
    const { names, all } = this.#read
    const isLike = isOfSet(this.#folded, fields, index)
    if (!isLike && !all) return false
    const name = fieldName(fields, index).toLowerCase()
    return (isLike || name.includes('_')) && !names.has(name)
  }
}

const NONE_READ: NamesRead = { names: new Set(), all: false }

/** An announcement of trailers is false if trailers are dropped. */
function hideTrailerNames(fields: Fields): void {
  if (firstOf(fields, TRAILER) < 0) return
  for (let i = 0; i < fields.count; i++) {
    if (fields.kinds[i] === TRAILER) fields.kinds[i] = HIDDEN
  }
}
