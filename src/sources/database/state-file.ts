import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { Snapshot } from './rows.ts'

const VERSION = 1

/**
 * The whole file is rewritten, and edits may come in quick succession: the pause after a write is
 * this many times the duration of the write, up to one second. If the gateway is killed during the
 * pause while the database is also down, it restarts with the previous edit.
 */
const PAUSE = { times: 20, max: 1_000 } as const

/** The last rows of the database as stored: secrets stay encrypted. */
export class StateFile {
  readonly #path: string
  readonly #failed: (error: string) => void
  #next: (() => Snapshot) | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(path: string, failed: (error: string) => void) {
    this.#path = path
    this.#failed = failed
  }

  /** Undefined if there is no file or it is unreadable. */
  read(): Snapshot | undefined {
    try {
      const { version, revision, mark = '', rows } = JSON.parse(readFileSync(this.#path, 'utf8'))
      if (version !== VERSION || !Number.isInteger(revision) || !Array.isArray(rows)) {
        throw new Error('the file has an unsupported format version')
      }
      return { revision, mark, rows }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#failed((error as Error).message)
      return undefined
    }
  }

  /**
   * Schedules a write, at a limited rate; only the newest snapshot is written. Deferred, so that
   * the snapshot takes effect first.
   */
  write(snapshot: () => Snapshot): void {
    this.#next = snapshot
    this.#timer ??= setTimeout(() => {
      const began = performance.now()
      this.flush()
      const pause = Math.min((performance.now() - began) * PAUSE.times, PAUSE.max)
      this.#timer = setTimeout(() => {
        this.#timer = undefined
        if (this.#next !== undefined) this.write(this.#next)
      }, pause).unref()
    }).unref()
  }

  /** Writes a pending snapshot immediately. */
  flush(): void {
    const snapshot = this.#next
    this.#next = undefined
    if (snapshot !== undefined) this.#replace(snapshot())
  }

  /** Replaces the file atomically: readers see either the previous or the new one. */
  #replace(snapshot: Snapshot): void {
    const next = `${this.#path}.${process.pid}.new`
    try {
      writeFileSync(next, JSON.stringify({ version: VERSION, ...snapshot }), {
        mode: 0o600,
        flush: true,
      })
      renameSync(next, this.#path)
    } catch (error) {
      this.#failed((error as Error).message)
    }
  }
}
