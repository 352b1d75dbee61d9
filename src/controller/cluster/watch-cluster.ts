import type { KubeClient } from './client.ts'
import { Informer, type InformerDeps, type RestartReason } from './informer.ts'
import { KINDS, type ResourceKind } from './kinds.ts'
import { type Snapshot, SnapshotStore } from './snapshot.ts'

export interface WatchClusterOptions {
  readonly client: KubeClient
  readonly options: Readonly<Record<NonNullable<ResourceKind['option']>, boolean>>
  /** Called when everything was listed once, and then for each change. */
  readonly onChange: () => void
  readonly onRestart: (kind: string, reason: RestartReason, message: string) => void
  readonly backoff?: InformerDeps['backoff']
}

/** The definitions of kinds: when one appears, informers of absent kinds look again. */
const DEFINITIONS: ResourceKind = {
  kind: 'CustomResourceDefinition',
  group: 'apiextensions.k8s.io',
  versions: ['v1'],
  plural: 'customresourcedefinitions',
  isNamespaced: false,
  isOptional: true,
}

/** Watches all relevant kinds of the cluster. */
export class ClusterWatch {
  readonly #store = new SnapshotStore()
  readonly #informers: readonly Informer[]
  readonly #definitions: Informer

  constructor({ client, options, onChange, onRestart, backoff }: WatchClusterOptions) {
    const deps = {
      client,
      onRestart: (kind: ResourceKind, reason: RestartReason, message: string) =>
        onRestart(kind.kind, reason, message),
      ...(backoff === undefined ? {} : { backoff }),
    }
    const changed = () => {
      if (this.isSynced) onChange()
    }
    this.#informers = KINDS.filter(({ option }) => option === undefined || options[option]).map(
      (kind) => new Informer(kind, { ...deps, store: this.#store, onChange: changed }),
    )
    // Definitions are large, and only their existence matters: none of them is kept.
    const forgetful = { put: () => {}, remove: () => {}, replace: () => true }
    this.#definitions = new Informer(DEFINITIONS, {
      ...deps,
      store: forgetful,
      onChange: () => {
        for (const informer of this.#informers) informer.lookAgain()
      },
    })
  }

  start(): void {
    for (const informer of this.#informers) informer.start()
    this.#definitions.start()
  }

  stop(): void {
    for (const informer of this.#informers) informer.stop()
    this.#definitions.stop()
  }

  /**
   * Nothing is translated before that: a Gateway whose Secrets are not known yet is not invalid.
   */
  get isSynced(): boolean {
    return this.#informers.every(({ isSynced }) => isSynced)
  }

  /** The kinds that were not listed yet. */
  get waitingFor(): readonly string[] {
    return this.#informers.flatMap(({ isSynced, kind }) => (isSynced ? [] : [kind.kind]))
  }

  /** The version of a kind that the API server serves. */
  versionOf(kind: string): string | undefined {
    return this.#informers.find((informer) => informer.kind.kind === kind)?.version
  }

  count(kind: string): number {
    return this.#store.count(kind)
  }

  take(): Snapshot {
    return this.#store.take()
  }
}
