import type { Candidate } from './candidates.ts'
import type { Failure } from './in-process/node-test.ts'
import type { Mutant } from './mutant.ts'
import { loads, type Reach, reaches, type Usual } from './reach.ts'
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
  /** With all mutants. */
  readonly tree: string
  /** Without mutants. */
  readonly plainTree: string
  readonly reach: Reach
  readonly candidates: (file: string) => readonly Candidate[]
  /** What a test file may take in addition to its usual time. */
  readonly slackMs: number
  /** A time of `performance.now()`. */
  readonly deadline: number
}

/** How much is tried for one mutant. */
export interface Effort {
  /** What its tests may take without it. */
  readonly budgetMs: number
  /** How many test files may run. */
  readonly maxFiles: number
  /** After how many test files that do not reach it the search for others ends. */
  readonly maxMisses: number
}

const KNOWN_BONUS = 2

/** Decides about one mutant after the other, in a process of its own. */
export class Judge {
  readonly #options: JudgeOptions
  readonly #process: TestProcess
  readonly #plainProcess: TestProcess

  constructor(options: JudgeOptions) {
    this.#options = options
    this.#process = new TestProcess(options.tree)
    this.#plainProcess = new TestProcess(options.plainTree)
  }

  /** `before` are test files that have run with it already. */
  async judge(mutant: Mutant, effort: Effort, before: readonly string[] = []): Promise<Verdict> {
    if (mutant.isTopLevel) return await this.#judgeFromStart(mutant, effort, before)
    const { reach } = this.#options
    const ran = [...before]
    let left = effort.budgetMs
    let misses = 0
    let isLoaded = false
    for (const { path } of this.#likeliest(mutant)) {
      if (this.#isOver) return { outcome: 'unjudged', ran }
      if (ran.length >= effort.maxFiles || misses === effort.maxMisses) break
      const isKnown = reach.recorded(path) !== undefined
      const usual = await reach.of(path, this.#plainProcess)
      isLoaded ||= usual !== undefined && loads(usual, mutant)
      if (usual === undefined || !reaches(usual, mutant)) {
        if (!isKnown) misses++
        continue
      }
      if (before.includes(path) || (usual.ms > left && ran.length > 0)) continue
      left -= usual.ms
      ran.push(path)
      const failure = await this.#fails(path, mutant, usual)
      if (failure !== undefined) return killed(path, failure, ran)
    }
    if (isLoaded) return await this.#judgeFromStart(mutant, effort, ran)
    return survived(ran)
  }

  /** The nearest first, but those that are known to reach it before those that only might. */
  #likeliest(mutant: Mutant): readonly Candidate[] {
    const { candidates, reach } = this.#options
    return candidates(mutant.file)
      .map((candidate) => {
        const usual = reach.recorded(candidate.path)
        return usual !== undefined && reaches(usual, mutant)
          ? { ...candidate, rank: candidate.rank - KNOWN_BONUS }
          : candidate
      })
      .toSorted((a, b) => a.rank - b.rank)
  }

  end(): void {
    this.#process.end()
    this.#plainProcess.end()
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
    return await this.#runIn(this.#process, file, mutant, ms)
  }

  async #runIn(
    process: TestProcess,
    file: string,
    mutant: number,
    usualMs: number,
  ): Promise<string | undefined> {
    const { slackMs } = this.#options
    const order = { file, mutant, limitMs: slackMs + 5 * usualMs, records: false }
    const limitMs = 3 * slackMs + 10 * usualMs
    const first = await process.run(order, limitMs)
    // The system may have ended the process, for want of memory for instance.
    const reply = first === 'crashed' ? await process.run(order, limitMs) : first
    return typeof reply === 'string' ? reply : describe(reply.failure)
  }

  /** For code that runs while modules are loaded: a process with the mutant from its start. */
  async #judgeFromStart(
    mutant: Mutant,
    effort: Effort,
    before: readonly string[],
  ): Promise<Verdict> {
    const { candidates, reach, tree } = this.#options
    const process = new TestProcess(tree, mutant.id)
    const ran = new Set(before)
    let { budgetMs: left, maxFiles: files } = effort
    try {
      for (const { path } of candidates(mutant.file)) {
        if (this.#isOver) return { outcome: 'unjudged', ran: [...ran] }
        if (files === 0) break
        const usual = await reach.of(path, this.#plainProcess)
        if (usual === undefined || usual.ms > left) continue
        left -= usual.ms
        files--
        ran.add(path)
        const failure = await this.#runIn(process, path, mutant.id, usual.ms)
        if (failure === undefined) continue
        if ((await this.#run(path, 0, usual)) === undefined) return killed(path, failure, [...ran])
        this.#process.end()
      }
    } finally {
      process.end()
    }
    return survived([...ran])
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
