import type { KubeClient } from './client.ts'
import { Informer, type InformerDeps, type RestartReason } from './informer.ts'
import { KINDS, type ResourceKind } from './kinds.ts'
import { type Snapshot, SnapshotStore } from './snapshot.ts'

export interface WatchClusterOptions {
  readonly client: KubeClient
  readonly options: Readonly<Record<NonNullable<ResourceKind['option']>, boolean>>
  /**
   * The only namespaces to read, and the controller's own one, in which its replicas leave
   * ConfigMaps for each other; undefined: all.
   */
  readonly namespaces?: { readonly watched: readonly string[]; readonly own: string } | undefined
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
  /** Undefined in a few namespaces: definitions belong to the whole cluster. */
  readonly #definitions: Informer | undefined

  constructor({ client, options, namespaces, onChange, onRestart, backoff }: WatchClusterOptions) {
    const deps = {
      client,
      onRestart: (kind: ResourceKind, reason: RestartReason, message: string) =>
        onRestart(kind.kind, reason, message),
      ...(backoff === undefined ? {} : { backoff }),
    }
    const changed = () => {
      if (this.isSynced) onChange()
    }
    const own = { ...deps, store: this.#store, onChange: changed }
    this.#informers = KINDS.filter(({ option }) => option === undefined || options[option]).flatMap(
      (kind) => placesOf(kind, namespaces).map((place) => new Informer(kind, own, place)),
    )
    if (namespaces !== undefined) return
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
    this.#definitions?.start()
  }

  stop(): void {
    for (const informer of this.#informers) informer.stop()
    this.#definitions?.stop()
  }

  /**
   * Nothing is translated before that: a Gateway whose Secrets are not known yet is not invalid.
   */
  get isSynced(): boolean {
    return this.#informers.every(({ isSynced }) => isSynced)
  }

  /** The kinds that were not listed yet. */
  get waitingFor(): readonly string[] {
    return this.#informers.flatMap(({ isSynced, kind, namespace }) => {
      if (isSynced) return []
      return [namespace === undefined ? kind.kind : `${kind.kind} in ${namespace}`]
    })
  }

  /** The version of a kind that the API server serves. */
  versionOf(kind: string): string | undefined {
    return this.#informers.find((one) => one.kind.kind === kind && one.version !== undefined)
      ?.version
  }

  count(kind: string): number {
    return this.#store.count(kind)
  }

  take(): Snapshot {
    return this.#store.take()
  }
}

function placesOf(
  { kind, isNamespaced }: ResourceKind,
  namespaces: WatchClusterOptions['namespaces'],
): readonly (string | undefined)[] {
  if (namespaces === undefined) return [undefined]
  const { watched, own } = namespaces
  if (kind === 'ConfigMap') return [...new Set([...watched, own])]
  return isNamespaced || kind === 'Namespace' ? watched : [undefined]
}
