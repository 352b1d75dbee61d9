import {
  closeSync,
  fdatasync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import {
  MemoryUserTokens,
  type StoredToken,
  type UserTokenStore,
} from '../exchange/user-token-store.ts'
import { appendWhole } from './append.ts'

/*
 * Tokens of users, in a file that outlives the process: one line for each token that was stored or
 * removed, `<key> <version> <sealed>` or `<key> - -`. Keys are digests and tokens are sealed: the
 * file reveals nothing without the key of the gateway. Text after the last line end was never
 * acknowledged.
 */

const LINE = /^([\w-]{43}) ([\w-]{1,64}) ([\w-]{1,100000})$/
const REMOVED = '-'
/** Lines of history after which the file is rewritten. */
const MAX_HISTORY = 1_000

export class UserTokenFile implements UserTokenStore {
  readonly #path: string
  readonly #memory = new MemoryUserTokens()
  #file: number
  #lines = 0

  /** Throws if the file cannot be read or written, or has other content. */
  constructor(path: string) {
    this.#path = path
    for (const [key, token] of linesOf(path)) {
      // In memory it completes at once.
      if (token === undefined) void this.#memory.remove(key)
      else void this.#memory.write(key, token)
    }
    this.#file = this.#rewrite()
  }

  read(key: string): Promise<StoredToken | undefined> {
    return this.#memory.read(key)
  }

  async write(key: string, token: StoredToken): Promise<void> {
    await this.#append(key, token)
    await this.#memory.write(key, token)
  }

  async replace(key: string, version: string, token: StoredToken): Promise<boolean> {
    if ((await this.#memory.read(key))?.version !== version) return false
    // The old token is used up at the server: the new one counts, whether or not it can be written.
    await this.#memory.write(key, token)
    await this.#append(key, token)
    return true
  }

  claim(key: string, version: string): Promise<boolean> {
    return this.#memory.claim(key, version)
  }

  async remove(key: string, version?: string): Promise<void> {
    const known = await this.#memory.read(key)
    if (known === undefined || (version !== undefined && known.version !== version)) return
    await this.#memory.remove(key)
    await this.#append(key, undefined)
  }

  async close(): Promise<void> {
    try {
      fsyncSync(this.#file)
    } finally {
      closeSync(this.#file)
    }
  }

  async #append(key: string, token: StoredToken | undefined): Promise<void> {
    appendWhole(this.#file, lineOf(key, token))
    if (++this.#lines > MAX_HISTORY + 2 * this.#memory.size) {
      const before = this.#file
      this.#file = this.#rewrite()
      closeSync(before)
      // The rewritten file lacks the token that is being stored.
      appendWhole(this.#file, lineOf(key, token))
    }
    await new Promise<void>((resolve, reject) =>
      fdatasync(this.#file, (error) => (error === null ? resolve() : reject(error))),
    )
  }

  /** Writes one line for each token, to a file that replaces the other one as a whole. */
  #rewrite(): number {
    const next = `${this.#path}.next`
    const all = [...this.#memory.entries()]
    const file = openSync(next, 'w', 0o600)
    writeFileSync(file, all.map(([key, token]) => lineOf(key, token)).join(''))
    fsyncSync(file)
    closeSync(file)
    renameSync(next, this.#path)
    this.#lines = all.length
    return openSync(this.#path, 'a', 0o600)
  }
}

function lineOf(key: string, token: StoredToken | undefined): string {
  const { version, sealed } = token ?? { version: REMOVED, sealed: REMOVED }
  return `${key} ${version} ${sealed}\n`
}

function* linesOf(path: string): Generator<readonly [key: string, token: StoredToken | undefined]> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  for (const [index, line] of text.split('\n').slice(0, -1).entries()) {
    const [, key = '', version = '', sealed = ''] = LINE.exec(line) ?? []
    if (key === '') throw new Error(`line ${index + 1} of ${path} is not a user token record`)
    yield [key, sealed === REMOVED ? undefined : { version, sealed }]
  }
}
