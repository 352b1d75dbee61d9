import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Model } from '../model/model.ts'
import type { Settings } from '../model/settings.ts'
import type { KnownItems } from '../sources/file/known-items.ts'
import type { ControllerOptions } from './controller-source.ts'

/** The first configuration to serve. */
export interface First {
  readonly model: Model
  /** The Model in the startup output: that of the file, even if its edits are not known yet. */
  readonly announced: Model
  readonly settings: Settings
  /** Those settings that are not from the file. */
  readonly forced: Partial<Settings>
  /** Includes errors if it is not strict. */
  readonly diagnostics: readonly Diagnostic[]
  readonly isStrict: boolean
  /** If set, the controller delivers the configuration, and the file contains only settings. */
  readonly controller: ControllerOptions | undefined
  /** The items of the file, as read. */
  readonly known: KnownItems
}
