import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Model } from '../../model/model.ts'
import type { Settings } from '../../model/settings.ts'
import type { Snapshot } from '../cluster/snapshot.ts'
import type { LabelSelector } from '../resources/metadata.ts'
import type { ObjectStatus } from './conditions.ts'
import { Translator } from './translator.ts'

export interface TranslateOptions {
  readonly controllerName: string
  /** Settings of the proxies themselves, which a cluster configures elsewhere. */
  readonly settings: Settings
  readonly discoverySelectors?: readonly LabelSelector[]
  readonly gatewayNamespaces?: readonly string[]
  /** Missing Services and Secrets are assumed to exist: for manifests. */
  readonly assumesMissing?: boolean
}

export interface Translation {
  /** `namespace/name` of a Gateway → the configuration of its proxies. */
  readonly models: ReadonlyMap<string, Model>
  readonly statuses: readonly ObjectStatus[]
  readonly diagnostics: readonly Diagnostic[]
}

/** Translates the objects of a cluster to Models and the status of each object. Pure. */
export function translate(snapshot: Snapshot, options: TranslateOptions): Translation {
  const translator = new Translator(options)
  const { models, statuses } = translator.translate(snapshot)
  return { models, statuses: statuses(), diagnostics: translator.diagnostics() }
}
