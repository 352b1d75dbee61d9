import { createHmac, randomBytes } from 'node:crypto'
import type { PasswordHash, Users } from './htpasswd.ts'
import { passwordThread } from './password-thread.ts'

/** Undefined: it could not be told. */
export type SignedIn = boolean | undefined

const MAX_REMEMBERED = 10_000

/**
 * Checks users of one policy. Browsers send the password with every request, so what was right is
 * remembered, by a digest under a key of this process alone. What was wrong is not: it must not
 * push out what was right.
 */
export class SignIn {
  readonly #users: ReadonlyMap<string, PasswordHash>
  readonly #key = randomBytes(32)
  readonly #right = new Set<string>()
  readonly #pending = new Map<string, Promise<SignedIn>>()
  /** What an unknown name is checked against, so that it takes the time of a known one. */
  readonly #decoy: PasswordHash | undefined

  constructor({ byName }: Users) {
    this.#users = byName
    this.#decoy = byName.values().next().value
  }

  check(name: string, password: string): SignedIn | Promise<SignedIn> {
    const digest = createHmac('sha256', this.#key).update(`${name}\0${password}`).digest('base64')
    if (this.#right.has(digest)) {
      // A Set keeps the order of insertion: what is used goes to the end, and lasts longest.
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
