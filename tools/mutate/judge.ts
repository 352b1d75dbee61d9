import type { Candidate } from './candidates.ts'
import type { Failure } from './in-process/node-test.ts'
import type { Mutant } from './mutant.ts'
import type { Reach, Usual } from './reach.ts'
import { TestProcess } from './test-process.ts'

export type Outcome = 'killed' | 'survived' | 'unreached' | 'equivalent' | 'unjudged'

export interface Verdict {
  readonly outcome: Outcome
  /** The test file that failed, and its first failure. */
  readonly killer?: { readonly file: string; readonly failure: string }
  /** Test files that ran with the mutant. */
  readonly ran: readonly string[]
  /** The nearest test file that reaches it. */
  readonly nearest?: string
}

export interface JudgeOptions {
  readonly tree: string
  readonly reach: Reach
  readonly candidates: (file: string) => readonly Candidate[]
  /** What the tests of one mutant may take without it. */
  readonly budgetMs: number
  /** How many test files may run with one mutant. */
  readonly maxFiles: number
  /** After how many test files that do not reach it the search for others ends. */
  readonly maxMisses: number
  /** A time of `performance.now()`. */
  readonly deadline: number
}

/** Decides about one mutant after the other, in a process of its own. */
export class Judge {
  readonly #options: JudgeOptions
  readonly #process: TestProcess

  constructor(options: JudgeOptions) {
    this.#options = options
    this.#process = new TestProcess(options.tree)
  }

  async judge(mutant: Mutant): Promise<Verdict> {
    if (mutant.isTopLevel) return await this.#judgeFromStart(mutant, [])
    const { candidates, reach, budgetMs, maxFiles, maxMisses } = this.#options
    const ran: string[] = []
    let left = budgetMs
    let misses = 0
    let isLoaded = false
    for (const { path } of candidates(mutant.file)) {
      if (this.#isOver) return { outcome: 'unjudged', ran }
      if (ran.length === maxFiles || misses === maxMisses) break
      const usual = await reach.of(path, this.#process)
      isLoaded ||= usual.loaded.has(mutant.id)
      if (!usual.reached.has(mutant.id)) {
        misses++
        continue
      }
      if (usual.ms > left && ran.length > 0) continue
      left -= usual.ms
      ran.push(path)
      const failure = await this.#fails(path, mutant, usual)
      if (failure !== undefined) return killed(path, failure, ran)
    }
    if (isLoaded) return await this.#judgeFromStart(mutant, ran)
    return survived(ran)
  }

  end(): void {
    this.#process.end()
  }

  get #isOver(): boolean {
    return performance.now() > this.#options.deadline
  }

  /** The failure, if the test file fails with the mutant and passes without it. */
  async #fails(file: string, { id }: Mutant, usual: Usual): Promise<string | undefined> {
    const failure = await this.#run(file, id, usual)
    if (failure === undefined) return undefined
    if ((await this.#run(file, 0, usual)) === undefined) return failure
    // The mutant has left something behind in the process, or the test does not always pass.
    this.#process.end()
    const unsteady = await this.#run(file, 0, usual)
    if (unsteady !== undefined) {
      this.#options.reach.exclude(file, `unsteady: ${unsteady}`)
      return undefined
    }
    const again = await this.#run(file, id, usual)
    this.#process.end()
    return again
  }

  async #run(file: string, mutant: number, { ms }: Usual): Promise<string | undefined> {
    const order = { file, mutant, limitMs: 5000 + 5 * ms, records: false }
    const reply = await this.#process.run(order, 15_000 + 10 * ms)
    return typeof reply === 'string' ? reply : describe(reply.failure)
  }

  /** For code that runs while modules are loaded: a process with the mutant from its start. */
  async #judgeFromStart(mutant: Mutant, ranBefore: readonly string[]): Promise<Verdict> {
    const { candidates, reach, budgetMs, maxFiles, tree } = this.#options
    const first = ranBefore.length
    const process = new TestProcess(tree, mutant.id)
    const ran = [...ranBefore]
    let left = budgetMs
    try {
      for (const { path } of candidates(mutant.file)) {
        if (this.#isOver) return { outcome: 'unjudged', ran }
        if (ran.length === first + maxFiles) break
        const usual = await reach.of(path, this.#process)
        if (usual.unusable !== undefined || usual.ms > left) continue
        left -= usual.ms
        if (!ran.includes(path)) ran.push(path)
        const order = {
          file: path,
          mutant: mutant.id,
          limitMs: 5000 + 5 * usual.ms,
          records: false,
        }
        const reply = await process.run(order, 15_000 + 10 * usual.ms)
        const failure = typeof reply === 'string' ? reply : describe(reply.failure)
        if (failure === undefined) continue
        if ((await this.#run(path, 0, usual)) === undefined) return killed(path, failure, ran)
        this.#process.end()
      }
    } finally {
      process.end()
    }
    return survived(ran)
  }
}

function describe(failure: Failure | undefined): string | undefined {
  return failure === undefined ? undefined : `${failure.name}: ${failure.error}`
}

function killed(file: string, failure: string, ran: readonly string[]): Verdict {
  return { outcome: 'killed', killer: { file, failure }, ran, ...nearest(ran) }
}

function survived(ran: readonly string[]): Verdict {
  return { outcome: ran.length === 0 ? 'unreached' : 'survived', ran, ...nearest(ran) }
}

function nearest([first]: readonly string[]): Pick<Verdict, 'nearest'> {
  return first === undefined ? {} : { nearest: first }
}
