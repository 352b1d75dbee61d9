import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Closures, hash } from './closures.ts'
import { hasLine, type LineBits } from './line-bits.ts'
import type { Mutant } from './mutant.ts'
import { readJsonLines } from './results.ts'
import type { TestProcess } from './test-process.ts'

/** What a test file does without a mutant. */
export interface Usual {
  readonly ms: number
  readonly reached: LineBits
  /** Reached while modules were loaded. */
  readonly loaded: LineBits
  /** It starts processes or threads, which may reach anything. */
  readonly hasChildren: boolean
}

/** The same in a file. */
interface Recorded extends Usual {
  readonly path: string
  readonly key: string
}

/** Why a test file cannot judge mutants. */
interface Unusable {
  readonly path: string
  readonly reason: string
}

export interface ReachFolders {
  /** Keeps what is recorded for all runs. */
  readonly cache: string
  /** Keeps which test files cannot be used, for a run that continues. */
  readonly out: string
}

const MAX_MS = 45_000

/** Runs each test file once without a mutant, when it is first needed and has changed. */
export class Reach {
  readonly #cache: string
  readonly #unusableFile: string
  readonly #closures: Closures
  readonly #usual = new Map<string, Promise<Usual | undefined>>()
  readonly #recorded = new Map<string, Usual | undefined>()
  readonly #unusable = new Map<string, string>()

  constructor({ cache, out }: ReachFolders, closures: Closures) {
    this.#cache = cache
    this.#unusableFile = join(out, 'unusable.jsonl')
    this.#closures = closures
    mkdirSync(cache, { recursive: true })
    for (const { path, reason } of readJsonLines<Unusable>(this.#unusableFile)) {
      this.#unusable.set(path, reason)
    }
  }

  /** Test files that cannot judge mutants, with the reason. */
  get unusable(): ReadonlyMap<string, string> {
    return this.#unusable
  }

  /** What is known about a test file without running it. */
  recorded(file: string): Usual | undefined {
    if (this.#unusable.has(file)) return undefined
    if (!this.#recorded.has(file)) this.#recorded.set(file, this.#read(file))
    return this.#recorded.get(file)
  }

  /** Undefined if it cannot be used. `process` is one without mutants. */
  of(file: string, process: TestProcess): Promise<Usual | undefined> {
    const usual = this.#usual.get(file) ?? this.#find(file, process)
    this.#usual.set(file, usual)
    return usual
  }

  exclude(file: string, reason: string): void {
    this.#unusable.set(file, reason)
    this.#usual.set(file, Promise.resolve(undefined))
    appendFileSync(this.#unusableFile, `${JSON.stringify({ path: file, reason })}\n`)
  }

  async #find(file: string, process: TestProcess): Promise<Usual | undefined> {
    if (this.#unusable.has(file)) return undefined
    const recorded = this.recorded(file)
    if (recorded !== undefined) return recorded
    const order = { file, mutant: 0, limitMs: MAX_MS, records: true }
    const reply = await process.run(order, MAX_MS)
    const failure = typeof reply === 'string' ? reply : reply.failure
    if (typeof reply === 'string' || failure !== undefined) {
      const reason = typeof failure === 'object' ? `${failure.name}: ${failure.error}` : failure
      this.exclude(file, reason ?? '')
      return undefined
    }
    const { ms, hasChildren } = reply
    const files = this.#closures.filesOf(file)
    const [reached, loaded] = [reply.reached, reply.loaded].map((bits) =>
      Object.fromEntries(Object.entries(bits).filter(([path]) => files.has(path))),
    )
    const usual = { ms, hasChildren, reached: reached ?? {}, loaded: loaded ?? {} }
    const record: Recorded = { path: file, key: this.#closures.keyOf(file), ...usual }
    writeFileSync(this.#pathFor(file), JSON.stringify(record))
    this.#recorded.set(file, usual)
    return usual
  }

  #read(file: string): Usual | undefined {
    const path = this.#pathFor(file)
    if (!existsSync(path)) return undefined
    const { key, ...usual } = JSON.parse(readFileSync(path, 'utf8')) as Recorded
    return key === this.#closures.keyOf(file) ? usual : undefined
  }

  #pathFor(file: string): string {
    return join(this.#cache, `${hash(file).slice(0, 20)}.json`)
  }
}

export function reaches({ reached, hasChildren }: Usual, { file, line }: Mutant): boolean {
  return hasChildren || hasLine(reached, file, line)
}

export function loads({ loaded }: Usual, { file, line }: Mutant): boolean {
  return hasLine(loaded, file, line)
}
