import type { KubeClient, WatchEvent } from './client.ts'
import { ask, KubeError } from './client.ts'
import { pathOf, type ResourceKind } from './kinds.ts'
import type { KubeObject } from './object.ts'
import type { SnapshotStore } from './snapshot.ts'

export type RestartReason = 'closed' | 'expired' | 'forbidden' | 'failed'

export interface InformerDeps {
  readonly client: KubeClient
  readonly store: Pick<SnapshotStore, 'put' | 'remove' | 'replace'>
  /** Called when objects of the kind changed. */
  readonly onChange: (kind: ResourceKind) => void
  readonly onRestart: (kind: ResourceKind, reason: RestartReason, message: string) => void
  /** Between 0 and 1. */
  readonly random?: () => number
  /** Milliseconds between two attempts: min and max. */
  readonly backoff?: { readonly min: number; readonly max: number }
}

const PAGE = 500
const BACKOFF = { min: 500, max: 30_000 }
/** Seconds that the server keeps a watch open, so that a dead watch is noticed. */
const WATCH_SECONDS = 240
/** Milliseconds until an absent kind is looked up again without an event of its CRD. */
const ABSENT_RETRY = 30_000

interface List {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string }
  readonly items?: readonly Omit<KubeObject, 'kind' | 'apiVersion'>[]
}

/**
 * Keeps the objects of one kind in the store in sync with the cluster: list, watch, and list again
 * when the watch's version has expired (410). While the server is unreachable, the objects stay as
 * they were.
 */
export class Informer {
  readonly kind: ResourceKind
  readonly namespace: string | undefined
  readonly #deps: InformerDeps
  readonly #stop = new AbortController()
  #version: string | undefined
  #isSynced = false
  #failures = 0
  #wake: (() => void) | undefined
  /** An event of its CRD arrived while the informer was not waiting for one. */
  #mustLookAgain = false

  /** `namespace`: reads only its objects; of namespaces, only itself. */
  constructor(kind: ResourceKind, deps: InformerDeps, namespace?: string) {
    this.kind = kind
    this.namespace = namespace
    this.#deps = deps
  }

  /** Whether the objects were listed once, or the cluster does not have the kind. */
  get isSynced(): boolean {
    return this.#isSynced
  }

  /** The version that the API server serves; undefined while the kind is absent. */
  get version(): string | undefined {
    return this.#version
  }

  start(): void {
    void this.#run()
  }

  stop(): void {
    this.#stop.abort()
    this.#wake?.()
  }

  /** Its CRD may have changed: an absent kind is looked up at once. */
  lookAgain(): void {
    if (this.#version !== undefined) return
    this.#mustLookAgain = true
    this.#wake?.()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      try {
        this.#mustLookAgain = false
        const resourceVersion = await this.#list()
        if (resourceVersion === undefined) {
          if (!this.#mustLookAgain) await this.#pause(ABSENT_RETRY)
        } else await this.#follow(resourceVersion)
      } catch (error) {
        if (signal.aborted) return
        await this.#failed(error)
      }
    }
  }

  /** The version of the list; undefined if the kind is absent. */
  async #list(): Promise<string | undefined> {
    const { kind } = this
    for (const version of kind.versions) {
      const listed = await this.#listVersion(version)
      if (listed === undefined) continue
      this.#version = version
      this.#failures = 0
      this.#replace(listed.items)
      return listed.resourceVersion
    }
    if (!kind.isOptional) throw new KubeError(404, `the API server does not serve ${kind.plural}`)
    this.#version = undefined
    this.#replace([])
    return undefined
  }

  async #listVersion(version: string) {
    const items: KubeObject[] = []
    const apiVersion = this.kind.group === '' ? version : `${this.kind.group}/${version}`
    for (let next: string | undefined = ''; ; ) {
      const query: Record<string, string> = { limit: String(PAGE) }
      if (next !== '') query['continue'] = next as string
      const list: List | undefined = await this.#ask(version, query)
      if (list === undefined) return undefined
      // Items of a list do not contain their kind.
      for (const item of list.items ?? []) {
        items.push({ ...item, apiVersion, kind: this.kind.kind } as KubeObject)
      }
      next = list.metadata?.continue
      if (next === undefined || next === '') {
        return { items, resourceVersion: list.metadata?.resourceVersion ?? '' }
      }
    }
  }

  async #ask(version: string, query: Record<string, string>): Promise<List | undefined> {
    try {
      const path = this.#path(version, query)
      return await ask<List>(this.#deps.client, 'GET', path, { signal: this.#stop.signal })
    } catch (error) {
      const status = error instanceof KubeError ? error.status : 0
      // Objects that were readable before are not gone because they cannot be read now.
      const isForbidden =
        status === 403 && this.kind.mayBeForbidden === true && this.#version === undefined
      if (status === 404 || isForbidden) return undefined
      throw error
    }
  }

  #path(version: string, query: Record<string, string>): string {
    const { fieldSelector, labelSelector } = this.kind
    const all = new URLSearchParams(query)
    if (fieldSelector !== undefined) all.set('fieldSelector', fieldSelector)
    const { isNamespaced } = this.kind
    const { namespace } = this
    // A role that grants one object by its name grants lists and watches that select this name.
    if (namespace !== undefined && !isNamespaced)
      all.set('fieldSelector', `metadata.name=${namespace}`)
    const place = isNamespaced ? namespace : undefined
    if (labelSelector !== undefined) all.set('labelSelector', labelSelector)
    return `${pathOf(this.kind, version, place)}?${all}`
  }

  #replace(objects: readonly KubeObject[]): void {
    const isFirst = !this.#isSynced
    this.#isSynced = true
    const isChanged = this.#deps.store.replace(this.kind.kind, objects, this.namespace)
    if (isChanged || isFirst) this.#deps.onChange(this.kind)
  }

  /** Watches from one version on, repeatedly, until that version expires on the server. */
  async #follow(from: string): Promise<void> {
    const { signal } = this.#stop
    let resourceVersion = from
    while (!signal.aborted) {
      let isExpired = false
      const began = performance.now()
      try {
        await this.#watch(resourceVersion, (event) => {
          if (event.type === 'ERROR') {
            isExpired = true
            return
          }
          const object = event.object as KubeObject
          resourceVersion = object.metadata.resourceVersion ?? resourceVersion
          this.#failures = 0
          this.#apply(event.type, object)
        })
        if (!isExpired) this.#deps.onRestart(this.kind, 'closed', 'the API server closed the watch')
      } catch (error) {
        if (signal.aborted) return
        const status = error instanceof KubeError ? error.status : 0
        // 404: the CRD was deleted, or no longer has this version.
        if (status === 410 || status === 404) isExpired = true
        else await this.#failed(error)
      }
      if (signal.aborted) return
      if (isExpired) {
        this.#deps.onRestart(this.kind, 'expired', 'the watch has expired')
        return
      }
      // A server that ends every watch at once must not be called in a tight loop.
      if (performance.now() - began < 1_000) await this.#pause(this.#delay(0))
    }
  }

  #watch(resourceVersion: string, onEvent: (event: WatchEvent) => void): Promise<void> {
    const { random = Math.random, client } = this.#deps
    const query = {
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion,
      // Spreads the watches of a fleet over time.
      timeoutSeconds: String(Math.round(WATCH_SECONDS * (0.75 + random() / 2))),
    }
    return client.watch(this.#path(this.#version as string, query), onEvent, this.#stop.signal)
  }

  #apply(type: WatchEvent['type'], object: KubeObject): void {
    const { store, onChange } = this.#deps
    if (type === 'BOOKMARK') return
    if (type === 'DELETED') store.remove(this.kind.kind, object)
    else store.put(this.kind.kind, object)
    onChange(this.kind)
  }

  async #failed(error: unknown): Promise<void> {
    const status = error instanceof KubeError ? error.status : 0
    const reason = status === 403 || status === 401 ? 'forbidden' : 'failed'
    this.#deps.onRestart(this.kind, reason, (error as Error).message)
    await this.#pause(this.#delay(this.#failures++))
  }

  #delay(failures: number): number {
    const { min, max } = this.#deps.backoff ?? BACKOFF
    const { random = Math.random } = this.#deps
    return Math.min(max, min * 2 ** Math.min(failures, 10)) * (0.5 + random() / 2)
  }

  #pause(milliseconds: number): Promise<void> {
    if (this.#stop.signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(done, milliseconds)
      this.#wake = done
      function done() {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
