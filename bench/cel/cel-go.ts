import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import { buildGo } from '../../test/oracle/build-go.ts'
import type { Contender } from '../measure.ts'
import type { Context } from './contexts.ts'

/** cel-go in a separate process, which measures its slices itself. */
export class CelGo {
  readonly #process: ChildProcess
  readonly #lines: Interface

  private constructor(process: ChildProcess, lines: Interface) {
    this.#process = process
    this.#lines = lines
  }

  /** Returns the reason as a string if Go is not installed. */
  static start(): CelGo | string {
    const built = buildGo(new URL('go/', import.meta.url), 'cel-go-bench')
    if ('missing' in built) return built.missing
    const child = spawn(built.program, { stdio: ['pipe', 'pipe', 'inherit'] })
    return new CelGo(child, createInterface({ input: child.stdout }))
  }

  /** Compiles a set of expressions and returns the CPU time in ns. */
  async load(name: string, exprs: readonly string[]): Promise<number> {
    return (await this.#ask({ do: 'load', name, exprs })).ns
  }

  async contexts(name: string, contexts: readonly Context[]): Promise<void> {
    await this.#ask({ do: 'contexts', name, contexts })
  }

  /** Discards a set of expressions. */
  async drop(name: string): Promise<void> {
    await this.#ask({ do: 'drop', name })
  }

  /** Returns how many of `times` decisions are true. */
  async count(name: string, over: string, times: number): Promise<number> {
    return (await this.#ask({ do: 'slice', name, over, times })).true
  }

  contender(title: string, name: string, over: string): Contender {
    const slice = async (times: number) => {
      return (await this.#ask({ do: 'slice', name, over, times })).ns
    }
    return { name: title, slice }
  }

  async stop(): Promise<void> {
    this.#process.stdin?.end()
    await once(this.#process, 'exit')
  }

  async #ask(command: object): Promise<{ ns: number; true: number }> {
    this.#process.stdin?.write(`${JSON.stringify(command)}\n`)
    const [line] = await once(this.#lines, 'line')
    const response = JSON.parse(line)
    if (response.error !== undefined) throw new Error(`cel-go: ${response.error}`)
    return response
  }
}
