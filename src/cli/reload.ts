import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { hasErrors } from '../diagnostics/result.ts'
import type { Model } from '../model/model.ts'
import type { Loaded } from '../sources/file/load.ts'
import type { Fleet } from './fleet.ts'
import { withoutCompiler } from './frugal-start.ts'

export interface ReloadOptions {
  readonly file: string
  readonly load: () => Promise<Loaded>
  readonly apply: Fleet['apply']
  /** What was named is followed, also by a file that is rejected. */
  readonly follow: (files: Loaded['files']) => void
  readonly applied: (model: Model, diagnostics: readonly Diagnostic[]) => Promise<void> | void
  readonly rejected: (diagnostics: readonly Diagnostic[]) => void
}

/** Files that are written in place are empty for a moment, and nobody stops serving by that. */
const SAYS_NOTHING = 'PC0223'

/**
 * Takes over what changes, one change at a time: what comes while one is read or put into effect
 * is read after it, once, so that the last one is what stays. A change that is wrong in any way
 * changes nothing.
 */
export class Reloading {
  readonly #options: ReloadOptions
  #isBusy = false
  #isAsked = false

  constructor(options: ReloadOptions) {
    this.#options = options
  }

  /** Something may have changed. */
  ask(): void {
    this.#isAsked = true
    if (!this.#isBusy) void this.#work()
  }

  async #work(): Promise<void> {
    this.#isBusy = true
    while (this.#isAsked) {
      this.#isAsked = false
      await withoutCompiler(() => this.#reload()).catch((error: unknown) => {
        this.#options.rejected([this.#fault(error)])
      })
    }
    this.#isBusy = false
  }

  async #reload(): Promise<void> {
    const { load, apply, follow, applied, rejected } = this.#options
    const { result, files } = await load()
    follow(files)
    const { value: model, diagnostics } = result
    const isEmpty = diagnostics.some(({ code }) => code === SAYS_NOTHING)
    if (model === undefined || isEmpty || hasErrors(diagnostics)) {
      rejected(diagnostics)
      return
    }
    const outcome = await apply(model)
    const all = [...diagnostics, ...outcome.diagnostics]
    if (outcome.isApplied) await applied(model, all)
    else rejected(all)
  }

  #fault(error: unknown): Diagnostic {
    const problem = error instanceof Error ? error.message : String(error)
    return {
      code: 'PC0404',
      severity: 'error',
      message: `the configuration could not be read to its end: ${problem}`,
      origin: { kind: 'file', file: this.#options.file, line: 1, column: 1 },
      hint: 'what ran before goes on as it is',
    }
  }
}
