import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { rejection } from '../../diagnostics/result.ts'
import type { Source, Update } from '../source.ts'
import type { Loaded } from './load.ts'
import { FileWatch, type FollowedFile } from './watch.ts'

export interface FileSourceOptions {
  readonly main: FollowedFile
  /** The files named by the first version that was read. */
  readonly files: readonly FollowedFile[]
  readonly load: () => Promise<Loaded>
  /** See Source.isStrict; true for a file by default. */
  readonly isStrict?: boolean
  readonly openWatch?: (changed: () => void) => Pick<FileWatch, 'follow' | 'close'>
}

/** Follows a file and the files that it names, including those named by a rejected file. */
export class FileSource implements Source {
  readonly isStrict: boolean
  readonly #options: FileSourceOptions
  #isAsked = false
  #wake = () => {}

  constructor(options: FileSourceOptions) {
    this.#options = options
    this.isStrict = options.isStrict ?? true
  }

  refresh(): void {
    this.#isAsked = true
    this.#wake()
  }

  async *watch(signal: AbortSignal): AsyncGenerator<Update, void> {
    const { main, files, openWatch = (changed) => new FileWatch(changed) } = this.#options
    const watch = openWatch(() => this.refresh())
    signal.addEventListener('abort', () => this.#wake(), { once: true })
    const follow = (named: readonly FollowedFile[]) => watch.follow([main, ...named])
    try {
      follow(files)
      for (;;) {
        while (!this.#isAsked && !signal.aborted) {
          await new Promise<void>((resolve) => {
            this.#wake = resolve
          })
        }
        if (signal.aborted) return
        this.#isAsked = false
        const update = await this.#read(follow)
        if (signal.aborted) return
        yield update
      }
    } finally {
      watch.close()
    }
  }

  async #read(follow: (files: Loaded['files']) => void): Promise<Update> {
    try {
      const { files, ...read } = await this.#options.load()
      follow(files)
      return read
    } catch (error) {
      return { result: rejection([brokenOff(this.#options.main.path, error)]) }
    }
  }
}

/** The diagnostic for an exception thrown while a file is read or applied. */
export function brokenOff(file: string, error: unknown): Diagnostic {
  const problem = error instanceof Error ? error.message : String(error)
  return {
    code: 'PC0404',
    severity: 'error',
    message: `the configuration could not be loaded: ${problem}`,
    origin: { kind: 'file', file, line: 1, column: 1 },
    hint: 'the gateway keeps the previous configuration',
  }
}
