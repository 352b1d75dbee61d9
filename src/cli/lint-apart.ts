import { type ChildProcess, execFile } from 'node:child_process'
import { constants, setPriority } from 'node:os'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Environment } from '../sources/file/expand.ts'

/** Milliseconds after a change: what was changed is served before anybody thinks about it. */
const PAUSE = 2_000
const TIMEOUT_MS = 300_000
const MAX_TEXT = 64 * 1024 * 1024

/** The word that makes the program lint a file together with what is stored. */
export const LINT_STORED = 'lint-stored'

export interface LintApartOptions {
  readonly file: string
  readonly environment: Environment
  /** What is stored beside the file, as ./lint-stored.ts reads it; undefined: there is no store. */
  readonly stored?: (() => Promise<string>) | undefined
  readonly found: (findings: readonly Diagnostic[]) => void
  readonly failed: (message: string) => void
  /** The program that is run: this one. */
  readonly entry?: string
}

/**
 * The findings of `portcullis lint` about what is served, by a process of its own that ends with
 * them: neither requests nor the memory of the gateway feel how much there was to think about.
 */
export class LintApart {
  readonly #options: LintApartOptions
  #timer: NodeJS.Timeout | undefined
  #child: ChildProcess | undefined
  /** How often it was asked: who asked before the last time is not told anything. */
  #round = 0

  constructor(options: LintApartOptions) {
    this.#options = options
  }

  /** Something changed: what was asked before is of no interest any more. */
  ask(): void {
    this.close()
    const round = this.#round
    const begin = () =>
      void this.#start(round).catch((error: Error) => this.#options.failed(error.message))
    this.#timer = setTimeout(begin, PAUSE).unref()
  }

  close(): void {
    this.#round++
    clearTimeout(this.#timer)
    this.#child?.kill()
    this.#child = undefined
  }

  async #start(round: number): Promise<void> {
    const { file, environment, entry = process.argv[1] as string } = this.#options
    const settings = { env: environment, timeout: TIMEOUT_MS, maxBuffer: MAX_TEXT } as const
    const stored = await this.#options.stored?.()
    if (round !== this.#round) return
    const command = stored === undefined ? ['lint', '--format', 'json'] : [LINT_STORED]
    const args = [...process.execArgv, entry, ...command, file]
    const child = execFile(process.execPath, args, settings, (error, out) => {
      if (this.#child !== child) return
      this.#child = undefined
      this.#reported(out, error?.message ?? 'it returned nothing')
    })
    child.unref()
    this.#child = child
    // It may end without reading to the end.
    child.stdin?.on('error', () => {})
    child.stdin?.end(stored ?? '')
    try {
      if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_LOW)
    } catch {
      // It is over already, or may not be slowed; either way it is looked at.
    }
  }

  /** With errors among the findings the command fails, and has told them all the same. */
  #reported(out: string, problem: string): void {
    const { found, failed } = this.#options
    let said: { readonly diagnostics: readonly Diagnostic[] }
    try {
      said = JSON.parse(out)
    } catch {
      failed(problem)
      return
    }
    found(said.diagnostics)
  }
}
