import { type ChildProcess, fork } from 'node:child_process'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import { MUTANT_VARIABLE, type Order, type Reply } from './in-process/orders.ts'

/** Why there is no reply. */
export type Silence = 'hung' | 'crashed'

const ENTRY = join(import.meta.dirname, 'in-process/test-process.ts')
const CHILD_SWITCH = join(import.meta.dirname, 'in-process/child-switch.ts')
const MAX_MEMORY_MB = 2500

/** How much longer everything takes because other programs run as well. */
function slowness(): number {
  return Math.max(1, (loadavg()[0] ?? 0) / availableParallelism())
}

/** A process in which test files of a tree run; a new one is started whenever that is necessary. */
export class TestProcess {
  readonly #tree: string
  readonly #mutant: number
  #child: ChildProcess | undefined

  /** With a mutant, it is active from the start. */
  constructor(tree: string, mutant = 0) {
    this.#tree = tree
    this.#mutant = mutant
  }

  /** Times are those of a machine that does nothing else. */
  async run(order: Order, limitMs: number): Promise<Reply | Silence> {
    const child = (this.#child ??= this.#start())
    const factor = slowness()
    const patient = { ...order, limitMs: order.limitMs * factor }
    const reply = await replyOf(child, patient, limitMs * factor)
    if (typeof reply === 'string' || reply.memoryMb > MAX_MEMORY_MB) this.end()
    return typeof reply === 'string' ? reply : { ...reply, ms: reply.ms / factor }
  }

  end(): void {
    if (this.#child !== undefined) killGroup(this.#child)
    this.#child = undefined
  }

  #start(): ChildProcess {
    const options = `${process.env['NODE_OPTIONS'] ?? ''} --import=${CHILD_SWITCH}`
    const child = fork(ENTRY, {
      cwd: this.#tree,
      // A group of its own, so that what tests have started ends with it.
      detached: true,
      env: { ...process.env, NODE_OPTIONS: options, [MUTANT_VARIABLE]: String(this.#mutant) },
      execArgv: ['--no-warnings', '--max-old-space-size=2000'],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    running.add(child)
    return child
  }
}

const running = new Set<ChildProcess>()

process.once('exit', () => {
  for (const child of running) killGroup(child)
})

function killGroup(child: ChildProcess): void {
  running.delete(child)
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
  } catch {
    child.kill('SIGKILL')
  }
}

function replyOf(child: ChildProcess, order: Order, limitMs: number): Promise<Reply | Silence> {
  return new Promise((resolve) => {
    const end = (reply: Reply | Silence) => {
      clearTimeout(timer)
      child.removeAllListeners()
      child.on('error', () => {})
      resolve(reply)
    }
    const timer = setTimeout(end, limitMs, 'hung')
    child.once('message', (reply) => end(reply as Reply))
    child.once('exit', () => end('crashed'))
    child.once('error', () => end('crashed'))
    child.send(order)
  })
}
