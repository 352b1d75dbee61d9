import { createHmac, randomBytes } from 'node:crypto'
import type { PasswordHash, Users } from './htpasswd.ts'
import { passwordThread } from './password-thread.ts'

/** Undefined if the check was not possible. */
export type SignedIn = boolean | undefined

const MAX_REMEMBERED = 10_000

/**
 * Checks the users of one policy. Browsers send the password with every request, so correct ones
 * are cached, by a digest under a key that only this process has. Wrong ones are not: they must not
 * evict correct ones.
 */
export class SignIn {
  readonly #users: ReadonlyMap<string, PasswordHash>
  readonly #key = randomBytes(32)
  readonly #right = new Set<string>()
  readonly #pending = new Map<string, Promise<SignedIn>>()
  /** Unknown names are checked against this hash, so that they take as long as known ones. */
  readonly #decoy: PasswordHash | undefined

  constructor({ byName }: Users) {
    this.#users = byName
    this.#decoy = byName.values().next().value
  }

  check(name: string, password: string): SignedIn | Promise<SignedIn> {
    const digest = createHmac('sha256', this.#key).update(`${name}\0${password}`).digest('base64')
    if (this.#right.has(digest)) {
      // A Set keeps insertion order: a used entry moves to the end and is evicted last.
      this.#right.delete(digest)
      this.#right.add(digest)
      return true
    }
    const pending = this.#pending.get(digest)
    if (pending !== undefined) return pending
    const known = this.#users.get(name)
    const hash = known ?? this.#decoy
    if (hash === undefined) return false
    const checking = passwordThread.check(password, hash).then((isRight) => {
      this.#pending.delete(digest)
      if (isRight === true && known === undefined) return false
      if (isRight === true) this.#remember(digest)
      return isRight
    })
    this.#pending.set(digest, checking)
    return checking
  }

  #remember(digest: string): void {
    this.#right.add(digest)
    if (this.#right.size <= MAX_REMEMBERED) return
    for (const oldest of this.#right) {
      this.#right.delete(oldest)
      return
    }
  }
}
