import { type FSWatcher, statSync, watch } from 'node:fs'
import { basename, dirname } from 'node:path'

/** Changes that come together are one: editors and Kubernetes write in several steps. */
const SETTLE = 20
/** Network and container file systems may tell nothing: look from time to time. */
const LOOK = 2_000

/**
 * Calls `changed` when one of the files may be another. Folders are watched, not files: a file is
 * often replaced by a rename, and in a Kubernetes volume a link above it is what changes.
 */
export class FileWatch {
  readonly #changed: () => void
  readonly #folders = new Map<string, FSWatcher>()
  #files: readonly string[] = []
  #seen = ''
  #settling: NodeJS.Timeout | undefined
  readonly #looking: NodeJS.Timeout

  constructor(changed: () => void) {
    this.#changed = changed
    this.#looking = setInterval(() => this.#look(), LOOK).unref()
  }

  /** From now on these files. */
  follow(files: readonly string[]): void {
    this.#files = [...new Set(files)]
    this.#seen = this.#stamp()
    const folders = new Set(this.#files.map((file) => dirname(file)))
    for (const [folder, watcher] of this.#folders) {
      if (folders.has(folder)) continue
      watcher.close()
      this.#folders.delete(folder)
    }
    for (const folder of folders) if (!this.#folders.has(folder)) this.#open(folder)
  }

  close(): void {
    clearInterval(this.#looking)
    clearTimeout(this.#settling)
    for (const watcher of this.#folders.values()) watcher.close()
    this.#folders.clear()
  }

  #open(folder: string): void {
    try {
      const watcher = watch(folder, (_, name) => {
        // `..data` is the link that Kubernetes swaps.
        const isOurs = this.#files.some((file) => basename(file) === name)
        if (isOurs || name === null || name.startsWith('..')) this.#settle()
      })
      watcher.on('error', () => {
        watcher.close()
        this.#folders.delete(folder)
      })
      this.#folders.set(folder, watcher)
    } catch {
      // What cannot be watched is looked at from time to time.
    }
  }

  #look(): void {
    for (const file of this.#files) {
      const folder = dirname(file)
      if (!this.#folders.has(folder)) this.#open(folder)
    }
    if (this.#stamp() !== this.#seen) this.#settle()
  }

  #settle(): void {
    clearTimeout(this.#settling)
    this.#settling = setTimeout(() => {
      const stamp = this.#stamp()
      if (stamp === this.#seen) return
      this.#seen = stamp
      this.#changed()
    }, SETTLE)
  }

  /** Links are followed: what counts is what would be read. */
  #stamp(): string {
    return this.#files
      .map((file) => {
        const found = statSync(file, { throwIfNoEntry: false, bigint: true })
        return found === undefined
          ? '-'
          : `${found.dev}:${found.ino}:${found.size}:${found.mtimeNs}`
      })
      .join(' ')
  }
}
