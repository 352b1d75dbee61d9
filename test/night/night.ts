import { join } from 'node:path'
import { addToCorpus, type Find } from '../corpus/corpus.ts'
import { appendNight, type Found, type Night, type Tested } from './ledger.ts'
import { type Command, type Round, runRound } from './round.ts'
import { nextFile, nextSuite, planNight, runsAfter } from './schedule.ts'
import {
  addCounts,
  addTime,
  fileIn,
  type NightState,
  newNight,
  nightOf,
  StateFile,
  type SuiteState,
  suiteIn,
} from './state.ts'
import type { ExploringSuite, Suite, WholeSuite } from './suites.ts'

export interface NightOptions {
  readonly suites: readonly Suite[]
  readonly seconds: number
  readonly seed: number
  /** A file has explored enough after this many runs. */
  readonly maxRuns?: number
  readonly cwd: string
  /** For the state and for finds. */
  readonly folder: string
  readonly ledger: string
  readonly corpus: string
  readonly tested: () => Tested
  readonly log: (line: string) => void
  readonly signal: AbortSignal
}

/** Seeds between two rounds; more than a test takes from one. */
const SEEDS = 60_000
const MAX_SEED = 2_000_000_000
/** An exploring round that takes longer has failed; rounds are meant to take a minute. */
const MAX_ROUND = 1_800
/** A file that failed this often is set aside for the night. */
const MAX_FAILED = 3
/** Inputs of one property that a night adds to the corpus. */
const MAX_FINDS = 3
/** A round that failed while it was disturbed runs this often again. */
const MAX_DISTURBED = 2

/** Runs a night to its end, or until the signal; then the next call goes on with it. */
export async function runNight(options: NightOptions): Promise<Night | undefined> {
  return await new RunningNight(options).run()
}

class RunningNight {
  readonly #options: NightOptions
  readonly #file: StateFile
  readonly #state: NightState

  constructor(options: NightOptions) {
    this.#options = options
    this.#file = new StateFile(options.folder)
    const tested = options.tested()
    const stored = this.#file.read()
    if (stored !== undefined && JSON.stringify(stored.tested) === JSON.stringify(tested)) {
      this.#log(
        `the night that began at ${stored.began} goes on, ${Math.round(stored.seconds)} s of it are over`,
      )
      this.#state = stored
      return
    }
    if (stored !== undefined) {
      this.#log('the last night was of other files: it ends here, and another begins')
      appendNight(nightOf(stored), options.ledger)
    }
    this.#state = newNight(tested, options.seed)
    this.#file.write(this.#state)
  }

  async run(): Promise<Night | undefined> {
    const { suites, seconds, signal, ledger } = this.#options
    const { whole, exploring, leftOut } = planNight(suites, seconds)
    this.#log(`seed ${this.#state.seed}, commit ${this.#state.tested.commit}`)
    for (const [name, reason] of leftOut) this.#leaveOut(name, reason)
    for (const suite of whole) {
      if (!signal.aborted) await this.#runWhole(suite)
    }
    await this.#explore(exploring)
    if (signal.aborted) {
      this.#log('stopped; the same command goes on from here')
      return undefined
    }
    const night = nightOf(this.#state)
    appendNight(night, ledger)
    this.#file.remove()
    return night
  }

  async #runWhole({ name, times, seconds, command }: WholeSuite): Promise<void> {
    const suite = suiteIn(this.#state, name)
    if (suite.status === 'ended') return
    const left = this.#options.seconds - this.#state.seconds
    if (suite.status !== 'running' && seconds * times > left) {
      this.#leaveOut(name, `it takes ${seconds * times} s, and ${Math.round(left)} s are left`)
      return
    }
    suite.status = 'running'
    this.#file.write(this.#state)
    while (suite.rounds < times) {
      const round = await this.#round(suite, name, command, seconds * 3)
      if (round.counts === undefined) return
      const { passed, failed, skipped } = round.counts
      if (passed + failed === 0 && skipped > 0) {
        this.#leaveOut(
          name,
          `all its tests are skipped: ${/^skipped: (.*)$/m.exec(round.output)?.[1]}`,
        )
        return
      }
      addCounts(suite, round)
      this.#logRound(name, name, round, '')
      if (round.failures.length > 0) this.#reportFound(suite, name, command, round)
      if (suite.rounds === times) suite.status = 'ended'
      this.#file.write(this.#state)
    }
  }

  async #explore(all: readonly ExploringSuite[]): Promise<void> {
    const { seconds, signal, maxRuns = Number.POSITIVE_INFINITY } = this.#options
    const mayContinue = (suite: ExploringSuite, file: string) => {
      const { inAll, failed } = fileIn(suiteIn(this.#state, suite.name), file)
      return inAll < maxRuns && failed < MAX_FAILED
    }
    for (;;) {
      const due = all.filter((suite) => suite.files.some((file) => mayContinue(suite, file)))
      const next = nextSuite(due, (name) => suiteIn(this.#state, name).seconds)
      if (next === undefined || this.#state.seconds >= seconds) break
      const suite = suiteIn(this.#state, next.name)
      const files = next.files.filter((file) => mayContinue(next, file))
      const file = nextFile(files, (own) => fileIn(suite, own)) as string
      await this.#exploreFile(next, suite, file)
      if (signal.aborted) return
    }
  }

  async #exploreFile(next: ExploringSuite, suite: SuiteState, file: string): Promise<void> {
    const before = fileIn(suite, file)
    const left = (this.#options.maxRuns ?? Number.POSITIVE_INFINITY) - before.inAll
    const runs = Math.min(before.runs, left)
    const seed = this.#state.nextSeed
    const command = next.command(file, { seed, runs })
    const first = await this.#round(suite, file, command, MAX_ROUND)
    if (first.counts === undefined) return
    const again =
      first.failures.length > 0 ? await this.#round(suite, file, command, MAX_ROUND) : first
    if (again.counts === undefined) return
    // Each round is a whole.
    suite.status = 'ended'
    this.#state.nextSeed = (seed + SEEDS) % MAX_SEED
    suite.seeds = [suite.seeds?.[0] ?? seed, seed + runs]
    addCounts(suite, again)
    this.#logRound(next.name, file, again, `, ${runs} runs from seed ${seed}`)
    const hasFailed = again.failures.length > 0
    if (hasFailed) this.#reportFound(suite, file, command, again)
    else if (first !== again) this.#reportUnsteady(suite, file, command, first)
    suite.files[file] = {
      rounds: before.rounds + 1,
      runs: hasFailed ? runs : runsAfter(runs, again),
      inAll: before.inAll + runs,
      failed: before.failed + (hasFailed ? 1 : 0),
      seconds: before.seconds + again.seconds,
    }
    this.#file.write(this.#state)
  }

  /** Runs a process to its end; again if it failed while it was disturbed. */
  async #round(suite: SuiteState, what: string, command: Command, limit: number): Promise<Round> {
    const { cwd, folder, signal, tested } = this.#options
    for (let tries = 1; ; tries++) {
      const found = join(folder, 'found')
      const round = await runRound(command, { cwd, limit, folder: found, signal })
      addTime(this.#state, suite, round)
      if (JSON.stringify(tested()) !== JSON.stringify(this.#state.tested)) suite.isDirty = true
      if (round.failures.length === 0 || !round.wasDisturbed || tries > MAX_DISTURBED) return round
      this.#reportUnsteady(suite, what, command, round)
    }
  }

  /** A failure that did not repeat, or was disturbed, is no find: its input may pass. */
  #reportUnsteady(suite: SuiteState, file: string, command: Command, round: Round): void {
    const failure = failureOf(file, command, round)
    suite.unsteady.push(failure)
    this.#log(
      `failed once, or while disturbed: ${file}; again: ${failure.command}\n${round.output}`,
    )
  }

  #reportFound(suite: SuiteState, file: string, command: Command, round: Round): void {
    const failure = failureOf(file, command, round)
    const corpus = this.#keep(round.finds)
    suite.found.push(corpus.length === 0 ? failure : { ...failure, corpus })
    this.#log(`FOUND: ${file}; again: ${failure.command}\n${round.output}`)
  }

  /** Adds finds to the corpus; returns the names of its files. */
  #keep(finds: readonly Find[]): string[] {
    const kept: string[] = []
    for (const find of finds) {
      const earlier = Object.values(this.#state.suites)
        .flatMap(({ found }) => found)
        .filter(({ corpus = [] }) => corpus.includes(find.name))
      if (earlier.length >= MAX_FINDS) continue
      if (addToCorpus(find, this.#options.corpus)) kept.push(find.name)
    }
    return kept
  }

  #leaveOut(name: string, reason: string): void {
    const suite = suiteIn(this.#state, name)
    if (suite.status === 'ended') return
    suite.status = 'left out'
    suite.reason = reason
    this.#log(`left out: ${name}: ${reason}`)
  }

  #logRound(
    suite: string,
    what: string,
    { counts, seconds, cpuSeconds }: Round,
    more: string,
  ): void {
    const { passed = 0, failed = 0, skipped = 0 } = counts ?? {}
    const told = `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
    const time = `${seconds.toFixed(0)} s, ${cpuSeconds.toFixed(0)} s of CPU`
    this.#log(`${suite === what ? '' : `${suite}: `}${what}: ${told} (${time})${more}`)
  }

  #log(line: string): void {
    this.#options.log(line)
  }
}

function failureOf(file: string, { env, args }: Command, { failures }: Round): Found {
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  return {
    file,
    failures: failures.slice(0, 10),
    command: [...settings, 'node', ...args].join(' '),
  }
}
