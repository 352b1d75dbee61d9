import type { Result } from '../diagnostics/result.ts'
import type { Model } from '../model/model.ts'

/** Where Models come from: a file is the first kind of source. */
export interface Source {
  /**
   * The Model whenever it may have changed, until the signal is aborted. Nothing is read until the
   * one before is dealt with: what changes meanwhile is read after it, once, so that the last one
   * is what stays. It does not throw: what could not be read is an update without a Model.
   */
  watch(signal: AbortSignal): AsyncIterable<Update>
  /** Reads again, though no change was noticed. */
  refresh(): void
}

export interface Update {
  readonly result: Result<Model>
  /** Of what was read, in hexadecimal, where the source can tell. */
  readonly digest?: string | undefined
}
