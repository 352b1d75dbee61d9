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

const MAX_MS = 45_000

/** Runs each test file once without a mutant, when it is first needed. */
export class Reach {
  readonly #usual = new Map<string, Promise<Usual>>()
  readonly #recorded = new Map<string, Usual>()
  readonly #ms: Map<string, number>
  readonly #unusable = new Map<string, string>()

  /** `ms` has the durations of earlier runs, and gets those of this one. */
  constructor(ms: Map<string, number>) {
    this.#ms = ms
  }

  get usualMs(): ReadonlyMap<string, number> {
    return this.#ms
  }

  /** Test files that cannot judge mutants, with the reason. */
  get unusable(): ReadonlyMap<string, string> {
    return this.#unusable
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
    this.#unusable.set(file, reason)
    const usual = unusable(reason, 0)
    this.#recorded.set(file, usual)
    this.#usual.set(file, Promise.resolve(usual))
  }

  async #record(file: string, process: TestProcess): Promise<Usual> {
    const usual = await this.#run(file, process)
    this.#recorded.set(file, usual)
    return usual
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
    this.#unusable.set(file, reason)
    return unusable(reason, MAX_MS)
  }
}

function unusable(reason: string, ms: number): Usual {
  return { unusable: reason, ms, reached: new Set(), loaded: new Set() }
}
