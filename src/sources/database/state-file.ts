import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { Snapshot } from './rows.ts'

const VERSION = 1

/** The last rows of the database, as they are there: secrets in it are encrypted. */
export class StateFile {
  readonly #path: string
  readonly #failed: (error: string) => void

  constructor(path: string, failed: (error: string) => void) {
    this.#path = path
    this.#failed = failed
  }

  /** Undefined where there is none, or none that can be read. */
  read(): Snapshot | undefined {
    try {
      const { version, revision, rows } = JSON.parse(readFileSync(this.#path, 'utf8'))
      if (version !== VERSION || !Number.isInteger(revision) || !Array.isArray(rows)) {
        throw new Error('it is not a file of this version')
      }
      return { revision, rows }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#failed((error as Error).message)
      return undefined
    }
  }

  /** Replaced at once: whoever reads it finds the one before or this one. */
  write(snapshot: Snapshot): void {
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
