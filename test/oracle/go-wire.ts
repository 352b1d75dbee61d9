import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { buildGo } from './build-go.ts'

const built = buildGo(new URL('../peers/go/', import.meta.url), 'http2-wire')

/** The `skip` option for node:test: false, or the reason to skip. */
export const WITHOUT_GO: string | false = 'missing' in built ? built.missing : false

/** One line of input for ../peers/go/wire.go. */
export interface GoTask {
  readonly blocks?: readonly (readonly string[])[]
  readonly fields?: readonly (readonly (readonly string[])[])[]
  readonly client?: string
  readonly server?: string
  readonly count?: number
  readonly patience?: number
}

export type Field = readonly [name: string, value: string]

/** One line of output of that program. */
export interface GoOutcome {
  /** For each connection, the fields of each block; null for the first invalid block. */
  readonly read?: readonly (readonly (readonly Field[] | null)[])[]
  readonly written?: readonly (readonly string[])[]
  readonly seen: readonly string[]
  readonly said: readonly string[]
  readonly sent?: Readonly<Record<string, number>>
}

/** Go's HPACK codec, HTTP/2 server and HTTP/2 client in a separate process. */
export class GoWire {
  readonly #process: ChildProcess
  readonly #waiting: ((outcome: GoOutcome) => void)[] = []

  constructor() {
    const program = 'missing' in built ? '' : built.program
    this.#process = spawn(program, ['wire'], { stdio: ['pipe', 'pipe', 'inherit'] })
    const lines = createInterface({ input: this.#process.stdout as NodeJS.ReadableStream })
    lines.on('line', (line) => this.#waiting.shift()?.(JSON.parse(line)))
  }

  ask(task: GoTask): Promise<GoOutcome> {
    const { promise, resolve } = Promise.withResolvers<GoOutcome>()
    this.#waiting.push(resolve)
    this.#process.stdin?.write(`${JSON.stringify(task)}\n`)
    return promise
  }

  /** The process exits when its input ends. */
  close(): void {
    this.#process.stdin?.end()
  }
}
