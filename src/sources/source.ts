import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Places } from '../diagnostics/places.ts'
import type { Result } from '../diagnostics/result.ts'
import type { Model } from '../model/model.ts'
import type { RejectedPart } from '../model/rejected-parts.ts'
import type { Settings } from '../model/settings.ts'

/** A source of Models, such as a file. */
export interface Source {
  /**
   * If true, a Model with any error is rejected as a whole: for a file that a person edits and can
   * fix immediately. Otherwise Models are applied part by part: an invalid part fails closed, and
   * the rest is applied.
   */
  readonly isStrict: boolean
  /**
   * Yields a Model whenever it may have changed, until the signal is aborted. Nothing is read until
   * the previous update is settled: changes in the meantime are read once afterwards, so that the
   * last one wins. Never throws: a failed read yields an update without a Model.
   */
  watch(signal: AbortSignal): AsyncIterable<Update>
  /** Reads again, even if no change was detected. */
  refresh(): void
}

export interface Update {
  readonly result: Result<Model>
  /** The settings of the process, if the source has them, as a file does. */
  readonly settings?: Settings | undefined
  /** The digest of the source in hexadecimal, if known. */
  readonly digest?: string | undefined
  /** Where the parts of the Model are in its file, if the source has files. */
  readonly places?: Places
  /** Called once, when the update has been applied or rejected. */
  readonly settled?: (outcome: Outcome) => void
}

/** The outcome of an update, for sources that accept or reject each part of it. */
export interface Outcome {
  /** If false, the update is rejected as a whole, and the previous Model stays in effect. */
  readonly isApplied: boolean
  /** All diagnostics of the source, the compiler and the ports. */
  readonly diagnostics: readonly Diagnostic[]
  /** Parts of the Model that fail closed, each with its errors; all other parts are in effect. */
  readonly rejected: readonly RejectedPart[]
}
