import { type ChildProcess, execFile } from 'node:child_process'
import { setPriority } from 'node:os'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Environment } from '../sources/file/expand.ts'
import { LOW_PRIORITY } from './tool-runs.ts'

/** Milliseconds after a change: applying it comes first. */
const PAUSE = 2_000
const TIMEOUT_MS = 300_000
const MAX_TEXT = 64 * 1024 * 1024

/** The command with which the program lints a file together with stored resources. */
export const LINT_STORED = 'lint-stored'

export interface LintApartOptions {
  readonly file: string
  readonly environment: Environment
  /** The stored resources, in the format of ./lint-stored.ts; undefined if there is no store. */
  readonly stored?: (() => Promise<string>) | undefined
  readonly found: (findings: readonly Diagnostic[]) => void
  readonly failed: (message: string) => void
  /** The program to run; by default, this one. */
  readonly entry?: string
}

/**
 * Runs `portcullis lint` on the served configuration in a separate, short-lived process: the
 * analysis affects neither requests nor the memory of the gateway.
 */
export class LintApart {
  readonly #options: LintApartOptions
  #timer: NodeJS.Timeout | undefined
  #child: ChildProcess | undefined
  /** The number of the current run; results of earlier runs are discarded. */
  #round = 0

  constructor(options: LintApartOptions) {
    this.#options = options
  }

  /** Called after a change; cancels an earlier run. */
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
    // The process may exit before it reads all of its input.
    child.stdin?.on('error', () => {})
    child.stdin?.end(stored ?? '')
    try {
      if (child.pid !== undefined) setPriority(child.pid, LOW_PRIORITY)
    } catch {
      // The process has exited, or its priority cannot be lowered; its result is used either way.
    }
  }

  /** If there are errors among the findings, the command fails but still prints all findings. */
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
