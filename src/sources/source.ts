import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Result } from '../diagnostics/result.ts'
import type { Model } from '../model/model.ts'
import type { RejectedPart } from '../model/rejected-parts.ts'
import type { Settings } from '../model/settings.ts'

/** Where Models come from: a file is the first kind of source. */
export interface Source {
  /**
   * A Model with any error is rejected as a whole, as that of a file which a person edits and can
   * fix at once. Otherwise Models are applied part by part: an invalid part fails closed by itself,
   * and the rest is applied.
   */
  readonly isStrict: boolean
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
  /** Of the process, where the source has them as well: a file does. */
  readonly settings?: Settings | undefined
  /** Of what was read, in hexadecimal, where the source can tell. */
  readonly digest?: string | undefined
  /** Called once, when the update has been applied or rejected. */
  readonly settled?: (outcome: Outcome) => void
}

/** What became of an update: for whoever has to accept or reject each part of it. */
export interface Outcome {
  /** False: the update is rejected as a whole, and the previous Model goes on. */
  readonly isApplied: boolean
  /** All that there is to say: of the source, the compiler and the ports. */
  readonly diagnostics: readonly Diagnostic[]
  /** Parts of the Model that fail closed, each with its errors; all other parts are in effect. */
  readonly rejected: readonly RejectedPart[]
}
