import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { Snapshot } from './rows.ts'

const VERSION = 1

/**
 * All of it is written, and edits may come one after the other: the pause after a write is this
 * many times what it took, up to a second. Until it is over, a gateway that is killed while the
 * database is down too comes back with the edit before.
 */
const PAUSE = { times: 20, max: 1_000 } as const

/** The last rows of the database, as they are there: secrets in it are encrypted. */
export class StateFile {
  readonly #path: string
  readonly #failed: (error: string) => void
  #next: (() => Snapshot) | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(path: string, failed: (error: string) => void) {
    this.#path = path
    this.#failed = failed
  }

  /** Undefined where there is none, or none that can be read. */
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

  /** Once what it is of is in effect, and no more often than now and then; the newest counts. */
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

  /** What is still to be written, at once. */
  flush(): void {
    const snapshot = this.#next
    this.#next = undefined
    if (snapshot !== undefined) this.#replace(snapshot())
  }

  /** As a whole: whoever reads it finds the one before or this one. */
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
