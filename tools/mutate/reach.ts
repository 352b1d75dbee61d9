import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { readJsonLines } from './results.ts'
import type { TestProcess } from './test-process.ts'

/** What a test file does without a mutant. */
export interface Usual {
  /** Why it cannot judge mutants. */
  readonly unusable?: string
  readonly ms: number
  readonly reached: ReadonlySet<number>
  /** Reached while modules were loaded. */
  readonly loaded: ReadonlySet<number>
}

/** The same as a line of a file. */
interface Recorded extends Omit<Usual, 'loaded' | 'reached'> {
  readonly path: string
  readonly loaded: readonly number[]
  readonly reached: readonly number[]
}

const MAX_MS = 45_000

/** Runs each test file once without a mutant, when it is first needed. */
export class Reach {
  readonly #file: string
  readonly #usual = new Map<string, Promise<Usual>>()
  readonly #recorded = new Map<string, Usual>()
  readonly #ms: Map<string, number>

  /**
   * `folder` keeps what is recorded, for a run that continues. `ms` has the durations of earlier
   * runs, and gets those of this one.
   */
  constructor(folder: string, ms = new Map<string, number>()) {
    this.#file = join(folder, 'reach.jsonl')
    this.#ms = ms
    for (const { path, loaded, reached, ...rest } of readJsonLines<Recorded>(this.#file)) {
      const usual = { ...rest, loaded: new Set(loaded), reached: new Set(reached) }
      this.#recorded.set(path, usual)
      this.#usual.set(path, Promise.resolve(usual))
    }
  }

  get usualMs(): ReadonlyMap<string, number> {
    return this.#ms
  }

  /** Test files that cannot judge mutants, with the reason. */
  get unusable(): ReadonlyMap<string, string> {
    return new Map(
      [...this.#recorded].flatMap(([path, { unusable: reason }]) =>
        reason === undefined ? [] : [[path, reason]],
      ),
    )
  }

  /** What is known about a test file without running it. */
  recorded(file: string): Usual | undefined {
    return this.#recorded.get(file)
  }

  of(file: string, process: TestProcess): Promise<Usual> {
    const usual = this.#usual.get(file) ?? this.#record(file, process)
    this.#usual.set(file, usual)
    return usual
  }

  exclude(file: string, reason: string): void {
    const usual = unusable(reason, 0)
    this.#keep(file, usual)
    this.#usual.set(file, Promise.resolve(usual))
  }

  async #record(file: string, process: TestProcess): Promise<Usual> {
    const usual = await this.#run(file, process)
    this.#keep(file, usual)
    return usual
  }

  #keep(path: string, usual: Usual): void {
    const { loaded, reached, ...rest } = usual
    const recorded: Recorded = { path, ...rest, loaded: [...loaded], reached: [...reached] }
    this.#recorded.set(path, usual)
    appendFileSync(this.#file, `${JSON.stringify(recorded)}\n`)
  }

  async #run(file: string, process: TestProcess): Promise<Usual> {
    const order = { file, mutant: 0, limitMs: MAX_MS, records: true }
    const reply = await process.run(order, MAX_MS)
    const failure = typeof reply === 'string' ? reply : reply.failure
    if (typeof reply !== 'string' && failure === undefined) {
      this.#ms.set(file, reply.ms)
      return { ms: reply.ms, reached: new Set(reply.reached), loaded: new Set(reply.loaded) }
    }
    const reason = typeof failure === 'object' ? `${failure.name}: ${failure.error}` : `${failure}`
    this.#ms.set(file, typeof reply === 'string' ? MAX_MS : reply.ms)
    return unusable(reason, MAX_MS)
  }
}

function unusable(reason: string, ms: number): Usual {
  return { unusable: reason, ms, reached: new Set(), loaded: new Set() }
}
