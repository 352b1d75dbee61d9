/** An edit that is not stored yet. */
export interface Draft {
  /** What was stored when it was begun. */
  readonly base: unknown
  readonly value: unknown
  /** The text of the value, with comments. */
  readonly text?: string
  /** The page on which it was edited last. */
  readonly page?: string
}

type Storage = Pick<globalThis.Storage, 'getItem' | 'setItem' | 'removeItem'>

const KEY = 'portcullis-drafts'
/** In milliseconds: a configuration of thousands of routes is not written with each letter. */
const WRITE_AFTER = 300

/** Drafts by name, such as `routes/api`. The storage of the tab keeps them over reloads. */
export class DraftStore {
  readonly #storage: Storage
  readonly #listeners = new Set<() => void>()
  #drafts: ReadonlyMap<string, Draft>
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(storage: Storage) {
    this.#storage = storage
    this.#drafts = draftsIn(storage)
  }

  /** The same map until a draft changes. */
  all(): ReadonlyMap<string, Draft> {
    return this.#drafts
  }

  /** Without a draft, removes the one of this name. */
  set(name: string, draft: Draft | undefined): void {
    const drafts = new Map(this.#drafts)
    if (draft === undefined) drafts.delete(name)
    else drafts.set(name, draft)
    this.#replace(drafts)
  }

  clear(): void {
    this.#replace(new Map())
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Writes what is not written yet, as before the page is closed. */
  flush(): void {
    if (this.#timer === undefined) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    try {
      if (this.#drafts.size === 0) this.#storage.removeItem(KEY)
      else this.#storage.setItem(KEY, JSON.stringify([...this.#drafts]))
    } catch {
      // The storage is full: the drafts are kept until the page is reloaded.
    }
  }

  #replace(drafts: ReadonlyMap<string, Draft>): void {
    this.#drafts = drafts
    this.#timer ??= setTimeout(() => this.flush(), WRITE_AFTER)
    for (const listener of this.#listeners) listener()
  }
}

function draftsIn(storage: Storage): ReadonlyMap<string, Draft> {
  try {
    return new Map(JSON.parse(storage.getItem(KEY) ?? '[]') as [string, Draft][])
  } catch {
    return new Map()
  }
}
