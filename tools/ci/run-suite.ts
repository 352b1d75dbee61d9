import { type ChildProcess, spawn } from 'node:child_process'
import { openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { judge } from './judge.ts'
import type { Machine } from './machine.ts'
import { SLOWEST_SUITE } from './schedule.ts'
import type { Suite, SuiteReport } from './suite.ts'

/** Milliseconds between the request to end and the end by force. */
const GRACE_MS = 10_000
/** `times` of bash: the CPU time of what it started and waited for. */
const TIMED = '"$@"; code=$?; times >&3; exit "$code"'

interface SuiteDeps {
  readonly secondsLeft: number
  /** The folder for what suites print. */
  readonly logs: string
  readonly machine: Machine
}

/**
 * Runs a suite in a process group of its own, which is ended when the suite takes too long or when
 * `secondsLeft` are over, and judges what it printed.
 */
export async function runSuite(
  suite: Suite,
  { secondsLeft, logs, machine }: SuiteDeps,
): Promise<SuiteReport> {
  const limit = Math.max(1, Math.min(suite.seconds * SLOWEST_SUITE, secondsLeft))
  const log = join(logs, `${suite.name}.log`)
  const output = openSync(log, 'w')
  const command = suite.nice === true ? ['nice', '-n', '5', ...suite.command] : suite.command
  const started = performance.now()
  const child = spawn('bash', ['-c', TIMED, suite.name, ...command], {
    stdio: ['ignore', output, output, 'pipe'],
    detached: true,
    env: { ...process.env, ...suite.environment },
  })
  running.add(child)
  let stopped = false
  const timer = setTimeout(() => {
    stopped = true
    endGroup(child)
  }, limit * 1000)
  let times = ''
  child.stdio[3]?.on('data', (data) => {
    times += data
  })
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
  clearTimeout(timer)
  running.delete(child)
  signalGroup(child, 'SIGKILL')
  const end = {
    code,
    log: readFileSync(log, 'utf8'),
    stoppedAfter: stopped ? limit : undefined,
    seconds: (performance.now() - started) / 1000,
    cpuSeconds: cpuSeconds(times),
  }
  return judge(suite, end, machine)
}

const running = new Set<ChildProcess>()

/** For a signal that ends this process. */
export function endSuites(): void {
  for (const child of running) endGroup(child)
}

function endGroup(child: ChildProcess): void {
  signalGroup(child, 'SIGTERM')
  setTimeout(() => signalGroup(child, 'SIGKILL'), GRACE_MS).unref()
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // Nothing of the group is left.
  }
}

/** The second line of `times` is that of children: `1m2.345s 0m0.500s`. */
function cpuSeconds(times: string): number {
  const [, children = ''] = times.split('\n')
  const seconds = [...children.matchAll(/(\d+)m([\d.]+)s/g)].map(
    ([, minutes, rest]) => Number(minutes) * 60 + Number(rest),
  )
  return seconds.reduce((sum, value) => sum + value, 0)
}
