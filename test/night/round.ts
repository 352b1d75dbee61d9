import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, constants, getPriority, setPriority } from 'node:os'
import { join } from 'node:path'
import type { Find } from '../corpus/corpus.ts'
import { PausedClock } from './paused-clock.ts'

export interface Command {
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** One process of a night, and what it printed. */
export interface Round {
  /** Undefined if it was ended from outside, so that nothing is known. */
  readonly counts:
    | { readonly passed: number; readonly failed: number; readonly skipped: number }
    | undefined
  readonly failures: readonly string[]
  readonly output: string
  /** Without the time during which the night was stopped. */
  readonly seconds: number
  readonly cpuSeconds: number
  /**
   * The night was stopped meanwhile, or waited for a processor most of the time: then tests fail
   * that wait for something.
   */
  readonly wasDisturbed: boolean
  readonly cases: number
  readonly finds: readonly Find[]
}

const MAX_OUTPUT = 200_000

export interface RoundOptions {
  readonly cwd: string
  /** Seconds; a round that takes longer has failed. */
  readonly limit: number
  /** For finds; emptied. */
  readonly folder: string
  readonly signal: AbortSignal
}

export async function runRound(command: Command, options: RoundOptions): Promise<Round> {
  rmSync(options.folder, { recursive: true, force: true })
  mkdirSync(options.folder, { recursive: true })
  const clock = new PausedClock()
  const cpuBefore = cpuOfChildren()
  const { output, code, isLate, waited } = await outputOf(command, options, clock)
  const { seconds, wasPaused } = clock.stop()
  const wasDisturbed = wasPaused || waited > seconds / 2
  const told = countsIn(output)
  const cpuSeconds =
    cpuBefore === undefined ? (told?.cpuSeconds ?? 0) : (cpuOfChildren() ?? 0) - cpuBefore
  const own = { output, seconds, cpuSeconds, wasDisturbed, ...readFinds(options.folder) }
  if (options.signal.aborted) return { ...own, counts: undefined, failures: [] }
  const failures = failuresIn(output)
  if (isLate) failures.push(`it did not end within ${options.limit} s`)
  else if (told === undefined) failures.push(`it printed no counts (exit code ${code})`)
  else if (told.passed + told.failed + told.skipped === 0) failures.push('it ran no test')
  else if (code !== 0 && failures.length === 0) failures.push(`exit code ${code}`)
  const { passed = 0, failed = 0, skipped = 0 } = told ?? {}
  const counts = { passed, failed: Math.max(failed, failures.length === 0 ? 0 : 1), skipped }
  return { ...own, counts, failures }
}

interface Ending {
  readonly output: string
  readonly code: number | string
  readonly isLate: boolean
  /** Seconds in which it could not run since others did. */
  readonly waited: number
}

async function outputOf(
  { program, args, env }: Command,
  { cwd, limit, folder, signal }: RoundOptions,
  clock: PausedClock,
): Promise<Ending> {
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...env, FUZZ_FOUND: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group, so that nothing that it started outlives it.
    detached: true,
  })
  lowerPriority(child.pid)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = `${output}${text}`.slice(-MAX_OUTPUT)
    })
  }
  let isLate = false
  let waited = 0
  const end = () => {
    endGroup(child.pid, 'SIGTERM')
    setTimeout(() => endGroup(child.pid, 'SIGKILL'), 10_000).unref()
  }
  signal.addEventListener('abort', end, { once: true })
  clock.onTick = (seconds) => {
    waited = secondsInQueue(child.pid) ?? waited
    if (seconds <= limit || isLate) return
    isLate = true
    end()
  }
  const code = await new Promise<number | string>((resolve) => {
    child.on('error', (error) => resolve(error.message))
    child.on('exit', () => endGroup(child.pid, 'SIGKILL'))
    child.on('close', (status, by) => resolve(status ?? by ?? 'unknown'))
  })
  signal.removeEventListener('abort', end)
  return { output, code, isLate, waited }
}

/** Ends a process and all that it started; some of them may have ended already. */
function endGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {}
}

/** The night itself may have a lower priority already. */
function lowerPriority(pid: number | undefined): void {
  const { PRIORITY_BELOW_NORMAL: lower } = constants.priority
  if (pid !== undefined && getPriority() < lower) setPriority(pid, lower)
}

/** How long the main thread of a process waited for a processor; only Linux says it. */
function secondsInQueue(pid: number | undefined): number | undefined {
  try {
    const [, waited] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')
    return Number(waited) / 1e9
  } catch {
    return undefined
  }
}

/** CPU time of all children that ended, in seconds; only Linux says it. */
function cpuOfChildren(): number | undefined {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // cutime and cstime, in hundredths of a second on every platform of Node.
    return (Number(fields[13]) + Number(fields[14])) / 100
  } catch {
    return undefined
  }
}

const COUNTS = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?(?: \(.*?([\d.]+) s of CPU\))?/gm

function countsIn(output: string) {
  const last = [...output.matchAll(COUNTS)].at(-1)
  if (last === undefined) return undefined
  const [passed = 0, failed = 0, skipped = 0, cpuSeconds = 0] = last
    .slice(1)
    .map((text) => Number(text ?? 0))
  return { passed, failed, skipped, cpuSeconds }
}

function failuresIn(output: string): string[] {
  return [...output.matchAll(/^failed: (.*)$/gm)].map(([, name = '']) => name)
}

function readFinds(folder: string): { cases: number; finds: Find[] } {
  let cases = 0
  const finds: Find[] = []
  for (const name of readdirSync(folder)) {
    const text = readFileSync(join(folder, name), 'utf8')
    if (name.endsWith('.cases')) cases += Number(text)
    else finds.push(JSON.parse(text) as Find)
  }
  return { cases, finds }
}

export const machine = (): string =>
  `${availableParallelism()} cores, ${process.platform} ${process.arch}`
