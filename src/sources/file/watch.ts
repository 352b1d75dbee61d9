import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import { stampOf } from './file-version.ts'

/** Changes that come together are one: editors and Kubernetes write in several steps. */
const SETTLE = 20
/** Network and container file systems may tell nothing: look from time to time. */
const LOOK = 2_000

export interface FollowedFile {
  readonly path: string
  /** Taken before it was read. */
  readonly stamp: string
}

/**
 * Calls `changed` when one of the files may be another. Folders are watched, not files: a file is
 * often replaced by a rename, and in a Kubernetes volume a link above it is what changes.
 */
export class FileWatch {
  readonly #changed: () => void
  readonly #folders = new Map<string, FSWatcher>()
  /** What was last told of each file, or what it was when it was first read. */
  #seen = new Map<string, string>()
  #settling: NodeJS.Timeout | undefined
  readonly #looking: NodeJS.Timeout

  constructor(changed: () => void) {
    this.#changed = changed
    this.#looking = setInterval(() => this.#look(), LOOK).unref()
  }

  /**
   * From now on these files. A new one counts as changed when it is not what was read; of one that
   * is followed already it counts what was told, for it may have changed since it was read.
   */
  follow(files: readonly FollowedFile[]): void {
    this.#seen = new Map(files.map(({ path, stamp }) => [path, this.#seen.get(path) ?? stamp]))
    const folders = new Set(files.map(({ path }) => dirname(path)))
    for (const [folder, watcher] of this.#folders) {
      if (folders.has(folder)) continue
      watcher.close()
      this.#folders.delete(folder)
    }
    for (const folder of folders) if (!this.#folders.has(folder)) this.#open(folder)
    if (this.#isChanged()) this.#settle()
  }

  close(): void {
    clearInterval(this.#looking)
    clearTimeout(this.#settling)
    this.#forgetFolders()
  }

  #forgetFolders(): void {
    for (const watcher of this.#folders.values()) watcher.close()
    this.#folders.clear()
  }

  #open(folder: string): void {
    try {
      const watcher = watch(folder, (_, name) => {
        // `..data` is the link that Kubernetes swaps.
        const isOurs = [...this.#seen.keys()].some((file) => basename(file) === name)
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
    const isChanged = this.#isChanged()
    // A folder that was removed and made again, or is behind a link that was swapped, is another
    // one than is watched: nobody told of this change, and nobody would of the next.
    if (isChanged) this.#forgetFolders()
    for (const file of this.#seen.keys()) {
      const folder = dirname(file)
      if (!this.#folders.has(folder)) this.#open(folder)
    }
    if (isChanged) this.#settle()
  }

  #settle(): void {
    clearTimeout(this.#settling)
    this.#settling = setTimeout(() => {
      if (!this.#isChanged()) return
      for (const file of this.#seen.keys()) this.#seen.set(file, stampOf(file))
      this.#changed()
    }, SETTLE)
  }

  #isChanged(): boolean {
    return [...this.#seen].some(([file, stamp]) => stampOf(file) !== stamp)
  }
}
