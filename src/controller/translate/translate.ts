import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Model } from '../../model/model.ts'
import type { Settings } from '../../model/settings.ts'
import type { Snapshot } from '../cluster/snapshot.ts'
import type { LabelSelector } from '../resources/metadata.ts'
import type { ObjectStatus } from './conditions.ts'
import { Translator } from './translator.ts'

export interface TranslateOptions {
  readonly controllerName: string
  /** Of the proxies themselves; a cluster says them elsewhere. */
  readonly settings: Settings
  readonly discoverySelectors?: readonly LabelSelector[]
  readonly gatewayNamespaces?: readonly string[]
  /** Services and Secrets that are not there are taken to exist: for manifests. */
  readonly assumesMissing?: boolean
}

export interface Translation {
  /** `namespace/name` of a Gateway → what its proxies are to do. */
  readonly models: ReadonlyMap<string, Model>
  readonly statuses: readonly ObjectStatus[]
  readonly diagnostics: readonly Diagnostic[]
}

/** What the objects of a cluster come to: Models, and what is to be said of each object. Pure. */
export function translate(snapshot: Snapshot, options: TranslateOptions): Translation {
  const translator = new Translator(options)
  const { models, statuses } = translator.translate(snapshot)
  return { models, statuses: statuses(), diagnostics: translator.diagnostics() }
}
