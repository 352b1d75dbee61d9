import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { buildGo } from './build-go.ts'

const built = buildGo(new URL('../peers/go/', import.meta.url), 'http2-wire')

/** node:test takes it as `skip`: false, or why. */
export const WITHOUT_GO: string | false = 'missing' in built ? built.missing : false

/** One line of what ../peers/go/wire.go reads. */
export interface GoTask {
  readonly blocks?: readonly (readonly string[])[]
  readonly fields?: readonly (readonly (readonly string[])[])[]
  readonly client?: string
  readonly server?: string
  readonly count?: number
  readonly patience?: number
}

export type Field = readonly [name: string, value: string]

/** The line that it responds with. */
export interface GoOutcome {
  /** Of each connection the fields of each block; null for the first that is none. */
  readonly read?: readonly (readonly (readonly Field[] | null)[])[]
  readonly written?: readonly (readonly string[])[]
  readonly seen: readonly string[]
  readonly said: readonly string[]
  readonly sent?: Readonly<Record<string, number>>
}

/** Go's HPACK, server and client, in a process of their own. */
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

  /** It ends by itself when there is nothing more to read. */
  close(): void {
    this.#process.stdin?.end()
  }
}
