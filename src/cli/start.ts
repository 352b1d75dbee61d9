import { isMainThread } from 'node:worker_threads'
import type { Terminal } from './define.ts'
import { demo } from './demo.ts'
import { invoke } from './invoke.ts'
import { LINT_STORED } from './lint-apart.ts'
import { run } from './run.ts'
import { runThread, THREAD } from './thread.ts'
import { runWorker } from './worker.ts'

/**
 * Runs `portcullis …` and returns the exit code. A gateway and its processes do not load the other
 * commands, which are a fifth of the program.
 */
export async function start(
  args: readonly string[],
  terminal: Terminal,
  version: string,
): Promise<number> {
  const [name, ...rest] = args
  const own = [run, demo].find((one) => one.name === name)
  if (own !== undefined) return invoke(own, rest, terminal)
  // Internal: `run` starts the processes that share its ports this way.
  if (name === 'worker' && process.send !== undefined) {
    return runWorker(terminal.environment['PORTCULLIS_WORKER'] ?? '0')
  }
  // Internal: `run` reads files that would delay requests this way.
  if (name === THREAD && !isMainThread) return runThread()
  // Internal: `run` lints the served configuration this way.
  if (name === LINT_STORED) {
    const { lintStored } = await import('./lint-stored.ts')
    return lintStored(rest, terminal)
  }
  const { runCommand } = await import('./index.ts')
  return runCommand(args, terminal, version)
}
