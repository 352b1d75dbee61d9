import type { StoredToken, UserTokenStore } from '../exchange/user-token-store.ts'
import type { UserTokenCall, UserTokenOrder, UserTokenReport } from './user-token-messages.ts'

/** Max milliseconds that a worker waits for its parent. */
const TIMEOUT_MS = 10_000

/** A worker's access to the tokens that its parent keeps. */
export class WorkerUserTokens implements UserTokenStore {
  readonly #send: (report: UserTokenReport) => void
  readonly #waiting = new Map<number, (order: UserTokenOrder) => void>()
  #ids = 0

  constructor(send: (report: UserTokenReport) => void) {
    this.#send = send
  }

  async read(key: string): Promise<StoredToken | undefined> {
    return (await this.#ask({ does: 'read', key })) as StoredToken | undefined
  }

  async write(key: string, token: StoredToken): Promise<void> {
    await this.#ask({ does: 'write', key, token })
  }

  async replace(key: string, version: string, token: StoredToken): Promise<boolean> {
    return (await this.#ask({ does: 'replace', key, version, token })) === true
  }

  async claim(key: string, version: string): Promise<boolean> {
    return (await this.#ask({ does: 'claim', key, version })) === true
  }

  async remove(key: string, version?: string): Promise<void> {
    await this.#ask({ does: 'remove', key, version })
  }

  receive(order: UserTokenOrder): void {
    this.#waiting.get(order.id)?.(order)
  }

  #ask(asks: UserTokenCall): Promise<unknown> {
    const id = ++this.#ids
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id)
        reject(new Error('user tokens are not available'))
      }, TIMEOUT_MS)
      this.#waiting.set(id, ({ value, error }) => {
        clearTimeout(timer)
        this.#waiting.delete(id)
        if (error === undefined) resolve(value)
        else reject(new Error(error))
      })
      this.#send({ kind: 'user-token', id, asks })
    })
  }
}

/** The parent's side. */
export async function serveUserTokens(
  store: UserTokenStore,
  { id, asks }: UserTokenReport,
): Promise<UserTokenOrder> {
  try {
    const value = await perform(store, asks)
    return { kind: 'user-token-response', id, value, error: undefined }
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error)
    return { kind: 'user-token-response', id, value: undefined, error: detail }
  }
}

function perform(store: UserTokenStore, asks: UserTokenCall): Promise<unknown> {
  switch (asks.does) {
    case 'read':
      return store.read(asks.key)
    case 'write':
      return store.write(asks.key, asks.token)
    case 'replace':
      return store.replace(asks.key, asks.version, asks.token)
    case 'claim':
      return store.claim(asks.key, asks.version)
    case 'remove':
      return store.remove(asks.key, asks.version)
  }
}
