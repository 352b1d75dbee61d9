import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'

export interface StdioOptions {
  readonly cmd: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly clearEnv: boolean
}

/** Variables that a program needs to run at all; other variables are not shared. */
const INHERITED = ['PATH', 'HOME', 'LANG', 'TMPDIR'] as const

/** The max length of a line; a program that exceeds it is killed. */
const MAX_LINE = 16 * 1024 * 1024
/** The max input waiting for a program that does not read; more is a failure. */
const MAX_UNREAD = 16 * 1024 * 1024
/** How long a program may run after its input ends, then after SIGTERM; in milliseconds. */
const END_GRACE = 2_000
const GROUP_INTERVAL = 100

export interface ProcessEvents {
  /** One message, without its line end. */
  line(text: string): void
  /** Called once. */
  exited(why: string): void
}

/** A program that speaks MCP on its standard streams: one message per line. */
export class StdioProcess {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #events: ProcessEvents
  #rest: Buffer[] = []
  #length = 0
  #isOver = false

  constructor(options: StdioOptions, events: ProcessEvents) {
    this.#events = events
    this.#child = spawn(options.cmd, [...options.args], {
      env: environmentOf(options),
      stdio: ['pipe', 'pipe', 'pipe'],
      // A separate process group, so that its child processes end with it.
      detached: process.platform !== 'win32',
    })
    this.#child.on('error', (error: NodeJS.ErrnoException) => this.#over(error.code ?? 'error'))
    this.#child.on('exit', (code, signal) => {
      this.#endGroup()
      this.#over(signal ?? `exit-${code}`)
    })
    this.#child.stdin.on('error', () => {})
    // Diagnostic output of a program is not kept.
    this.#child.stderr.resume()
    this.#child.stdout.on('data', (bytes: Buffer) => this.#read(bytes))
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Returns false if the program no longer reads. */
  write(text: string): boolean {
    if (this.#isOver || this.#child.stdin.writableLength > MAX_UNREAD) return false
    // Line ends inside a message can only be white space.
    this.#child.stdin.write(`${text.replaceAll(/[\r\n]+/g, ' ')}\n`)
    return true
  }

  /** Ends its input; a program that keeps running is killed. */
  close(): void {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    this.#child.stdin.end()
    const term = setTimeout(() => this.#kill('SIGTERM'), END_GRACE)
    const kill = setTimeout(() => this.#kill('SIGKILL'), 2 * END_GRACE)
    term.unref()
    kill.unref()
    this.#child.once('exit', () => {
      clearTimeout(term)
      clearTimeout(kill)
    })
  }

  /** Ends what the program started and left behind. */
  #endGroup(): void {
    if (!this.#signalGroup('SIGTERM')) return
    const endsAt = performance.now() + END_GRACE
    // As long as the group has a process, no other one gets its ID.
    const timer = setInterval(() => {
      const isLate = performance.now() >= endsAt
      if (!this.#signalGroup(isLate ? 'SIGKILL' : 0) || isLate) clearInterval(timer)
    }, GROUP_INTERVAL)
    timer.unref()
  }

  /** Returns false if the group has no processes. */
  #signalGroup(signal: NodeJS.Signals | 0): boolean {
    const { pid } = this.#child
    if (pid === undefined || process.platform === 'win32') return false
    try {
      return process.kill(-pid, signal)
    } catch {
      return false
    }
  }

  #kill(signal: NodeJS.Signals): void {
    if (!this.#signalGroup(signal)) this.#child.kill(signal)
  }

  #read(bytes: Buffer): void {
    let from = 0
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, from)) {
      const line = Buffer.concat([...this.#rest, bytes.subarray(from, at)])
      this.#rest = []
      this.#length = 0
      from = at + 1
      const text = line.toString('utf8').trim()
      if (text !== '' && !this.#isOver) this.#events.line(text)
    }
    const rest = bytes.subarray(from)
    if (rest.length === 0) return
    this.#rest.push(rest)
    this.#length += rest.length
    if (this.#length <= MAX_LINE) return
    this.#rest = []
    this.#kill('SIGKILL')
    this.#over('line-too-long')
  }

  #over(why: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#events.exited(why)
  }
}

function environmentOf({ env, clearEnv }: StdioOptions): NodeJS.ProcessEnv {
  const inherited = clearEnv ? [] : INHERITED
  const own = inherited.flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return { ...Object.fromEntries(own), ...env }
}
