import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import { stampOf } from './file-version.ts'

/** Changes in quick succession are combined: editors and Kubernetes write in several steps. */
const SETTLE = 20
/** Network and container file systems may not emit events, so files are also polled. */
const LOOK = 2_000

export interface FollowedFile {
  readonly path: string
  /** Taken before the file is read. */
  readonly stamp: string
}

/**
 * Calls `changed` when one of the files may have changed. Watches folders instead of files: a file
 * is often replaced by a rename, and in a Kubernetes volume a symlink above it changes.
 */
export class FileWatch {
  readonly #changed: () => void
  readonly #folders = new Map<string, FSWatcher>()
  /** The version of each file last reported, or the version first read. */
  #seen = new Map<string, string>()
  #settling: NodeJS.Timeout | undefined
  readonly #looking: NodeJS.Timeout

  constructor(changed: () => void, look = LOOK) {
    this.#changed = changed
    this.#looking = setInterval(() => this.#look(), look).unref()
  }

  /**
   * Sets the files to follow. A new file has changed if it differs from the version that was read;
   * for a file already followed, the last reported version counts, because it may have changed
   * since it was read.
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
        // Kubernetes swaps the symlink `..data`.
        const isOurs = [...this.#seen.keys()].some((file) => basename(file) === name)
        if (isOurs || name === null || name.startsWith('..')) this.#settle()
      })
      watcher.on('error', () => {
        watcher.close()
        this.#folders.delete(folder)
      })
      this.#folders.set(folder, watcher)
    } catch {
      // Files that cannot be watched are polled.
    }
  }

  #look(): void {
    const isChanged = this.#isChanged()
    // A folder that was removed and recreated, or is below a swapped symlink, is no longer the
    // watched folder: it emitted no event for this change and would emit none for the next.
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
