import { type FileHandle, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { StoredModel, StoredPart } from '../../xds/replica.ts'

const FORMAT = 3

/** Overwritten lines are garbage: the file may grow to this multiple of its needed size. */
const MAX_GROWTH = 2
const SMALL_BYTES = 65_536

/** A part; a line without contents removes it. */
type PartLine = readonly [name: string, version?: string, base64?: string]

interface Head {
  readonly format: number
}
/** Commits all lines before it as one configuration. */
interface Commit {
  readonly version: string
}

/**
 * Stores the last applied configuration, so that a restarted proxy serves it while the controller
 * is unavailable. It contains keys and certificates, so only its owner may read it.
 *
 * Each part is a line, followed by a line that commits the configuration. Changes are appended, so
 * that an edit costs only what it changes; when the file has grown too much, or a secret is
 * removed, it is rewritten.
 */
export class StateFile {
  readonly #path: string
  readonly #failed: (problem: Diagnostic) => void
  #next: StoredModel | undefined
  #writing: Promise<void> | undefined
  /** Name → version of the parts in the file; undefined if the file must be rewritten. */
  #written: Map<string, string> | undefined
  #bytes = 0
  /** The size of the file when it was last rewritten. */
  #base = 0

  constructor(path: string, failed: (problem: Diagnostic) => void) {
    this.#path = path
    this.#failed = failed
  }

  /** Undefined if there is no file or it is unusable. */
  async read(): Promise<StoredModel | undefined> {
    try {
      return readLines(await readFile(this.#path, 'utf8'))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.reject(error)
      return undefined
    }
  }

  /** Reports that the stored configuration is unusable. */
  reject(error: unknown): void {
    this.#failed({
      code: 'PC0803',
      severity: 'warning',
      message: `the stored configuration cannot be used: ${(error as Error).message}`,
      origin: { kind: 'object', object: this.#path, field: '' },
    })
  }

  /** Writes one Model at a time; of those that arrive meanwhile, only the last is written. */
  write(model: StoredModel): Promise<void> {
    this.#next = model
    this.#writing ??= this.#writeAll()
    return this.#writing
  }

  async #writeAll(): Promise<void> {
    while (this.#next !== undefined) {
      const model = this.#next
      this.#next = undefined
      await this.#store(model).catch((error: unknown) => {
        // It is unknown how much of it was written.
        this.#written = undefined
        this.reject(error)
      })
    }
    this.#writing = undefined
  }

  async #store(model: StoredModel): Promise<void> {
    const lines = this.#written && changes(this.#written, model)
    const text = lines && textOf(lines, model.version)
    const size = text === undefined ? 0 : this.#bytes + Buffer.byteLength(text)
    if (text === undefined || size > Math.max(SMALL_BYTES, this.#base * MAX_GROWTH)) {
      await this.#replace(model)
      return
    }
    const isOwn = await withFile(this.#path, 'a', async (file) => {
      // The file was changed by someone else: a process that has not exited yet, or an operator.
      if ((await file.stat()).size !== this.#bytes) return false
      await file.writeFile(text)
      await file.datasync()
      return true
    })
    if (!isOwn) {
      await this.#replace(model)
      return
    }
    this.#bytes = size
    for (const [name, version] of lines ?? []) {
      if (version === undefined) this.#written?.delete(name)
      else this.#written?.set(name, version)
    }
  }

  /** Replaces the file atomically: a killed process leaves either the old or the new file. */
  async #replace({ version, parts }: StoredModel): Promise<void> {
    const head = `${JSON.stringify({ format: FORMAT } satisfies Head)}\n`
    const text = `${head}${textOf(parts.map(lineOf), version)}`
    const path = `${this.#path}.${process.pid}`
    try {
      await withFile(path, 'w', async (file) => {
        await file.writeFile(text)
        await file.sync()
      })
      await rename(path, this.#path)
    } catch (error) {
      await rm(path, { force: true })
      throw error
    }
    const folder = await open(dirname(this.#path))
    await folder.sync().finally(() => folder.close())
    this.#written = new Map(parts.map((part) => [part.name, part.version]))
    this.#bytes = Buffer.byteLength(text)
    this.#base = this.#bytes
  }
}

async function withFile<T>(
  path: string,
  flags: 'a' | 'w',
  use: (file: FileHandle) => Promise<T>,
): Promise<T> {
  const file = await open(path, flags, 0o600)
  try {
    return await use(file)
  } finally {
    await file.close()
  }
}

/** The changed parts; undefined if a secret changed or was removed, of which no copy may remain. */
function changes(
  written: ReadonlyMap<string, string>,
  { parts }: StoredModel,
): readonly PartLine[] | undefined {
  const lines: PartLine[] = []
  let kept = 0
  for (const part of parts) {
    const known = written.get(part.name)
    if (known !== undefined) kept++
    if (known === part.version) continue
    if (known !== undefined && isSecret(part.name)) return undefined
    lines.push(lineOf(part))
  }
  if (kept === written.size) return lines
  const names = new Set(parts.map(({ name }) => name))
  for (const name of written.keys()) {
    if (names.has(name)) continue
    if (isSecret(name)) return undefined
    lines.push([name])
  }
  return lines
}

function isSecret(name: string): boolean {
  return name.startsWith('secrets/')
}

function lineOf({ name, version, bytes }: StoredPart): PartLine {
  return [name, version, Buffer.from(bytes).toString('base64')]
}

function textOf(lines: readonly PartLine[], version: string): string {
  const all = [...lines, { version } satisfies Commit]
  return all.map((line) => `${JSON.stringify(line)}\n`).join('')
}

/** Reads the last committed configuration; lines of an interrupted write are ignored. */
function readLines(text: string): StoredModel {
  const [first = '', ...rest] = text.split('\n')
  const { format } = JSON.parse(first) as Head
  if (format !== FORMAT) throw new Error(`unknown format ${format}`)
  // The last line is incomplete if it has no line break.
  const lines = rest.slice(0, -1)
  const held = new Map<string, StoredPart>()
  let pending: PartLine[] = []
  let version: string | undefined
  for (const line of lines) {
    const value = JSON.parse(line) as PartLine | Commit
    if (!('version' in value)) {
      pending.push(value)
      continue
    }
    for (const [name, own, base64] of pending) {
      if (own === undefined || base64 === undefined) held.delete(name)
      else held.set(name, { name, version: own, bytes: Buffer.from(base64, 'base64') })
    }
    pending = []
    version = value.version
  }
  if (version === undefined) throw new Error('the file is incomplete')
  return { version, parts: [...held.values()] }
}
