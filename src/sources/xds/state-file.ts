import { open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { StoredModel } from '../../xds/replica.ts'

const FORMAT = 2

/**
 * The last configuration that was applied, so that a proxy which is started again serves it while
 * the controller is away. It has keys and certificates: nobody else may read it.
 */
export class StateFile {
  readonly #path: string
  readonly #failed: (problem: Diagnostic) => void
  #next: StoredModel | undefined
  #writing: Promise<void> | undefined

  constructor(path: string, failed: (problem: Diagnostic) => void) {
    this.#path = path
    this.#failed = failed
  }

  /** Undefined: there is none, or it cannot be used. */
  async read(): Promise<StoredModel | undefined> {
    try {
      const stored = JSON.parse(await readFile(this.#path, 'utf8')) as Stored
      if (stored.format !== FORMAT) throw new Error(`format ${stored.format} is not known`)
      const parts = stored.parts.map(([name, version, text]) => ({
        name,
        version,
        bytes: Buffer.from(text, 'base64'),
      }))
      return { version: stored.version, parts }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.reject(error)
      return undefined
    }
  }

  /** What is stored cannot be used. */
  reject(error: unknown): void {
    this.#failed({
      code: 'PC0803',
      severity: 'warning',
      message: `the stored configuration cannot be used: ${(error as Error).message}`,
      origin: { kind: 'object', object: this.#path, field: '' },
    })
  }

  /** One at a time; of those that come meanwhile only the last one is written. */
  write(model: StoredModel): Promise<void> {
    this.#next = model
    this.#writing ??= this.#writeAll()
    return this.#writing
  }

  async #writeAll(): Promise<void> {
    while (this.#next !== undefined) {
      const { version, parts } = this.#next
      this.#next = undefined
      const stored: Stored = {
        format: FORMAT,
        version,
        parts: parts.map((part) => [
          part.name,
          part.version,
          Buffer.from(part.bytes).toString('base64'),
        ]),
      }
      await this.#replace(JSON.stringify(stored)).catch((error: unknown) => this.reject(error))
    }
    this.#writing = undefined
  }

  /** A process that is killed meanwhile leaves the file before or the file after, never half of one. */
  async #replace(text: string): Promise<void> {
    const path = `${this.#path}.${process.pid}`
    try {
      const file = await open(path, 'w', 0o600)
      try {
        await file.writeFile(text)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(path, this.#path)
    } catch (error) {
      await rm(path, { force: true })
      throw error
    }
    const folder = await open(dirname(this.#path))
    await folder.sync().finally(() => folder.close())
  }
}

interface Stored {
  readonly format: number
  readonly version: string
  readonly parts: readonly (readonly [name: string, version: string, base64: string])[]
}
