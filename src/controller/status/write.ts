import type { KubeClient } from '../cluster/client.ts'
import { MERGE_PATCH } from '../cluster/client.ts'
import { kindNamed, pathOf } from '../cluster/kinds.ts'
import { type KubeObject, keyOf } from '../cluster/object.ts'
import { objectsOf, type Snapshot } from '../cluster/snapshot.ts'
import type { ObjectStatus } from '../translate/conditions.ts'
import { composeStatus } from './compose.ts'

export type WriteOutcome = 'written' | 'conflict' | 'failed'

export interface StatusWriterDeps {
  readonly client: KubeClient
  readonly controllerName: string
  /** The version of a kind that the API server serves. */
  readonly versionOf: (kind: string) => string | undefined
  readonly onWrite: (kind: string, key: string, outcome: WriteOutcome, message: string) => void
  readonly now?: () => string
}

/** Requests at once: an API server has other clients, too. */
const MAX_AT_ONCE = 16

interface Write {
  readonly kind: string
  readonly key: string
  readonly path: string
  readonly body: unknown
  /** The object that was looked at, and what was to be written to it. */
  readonly id: string
}

/** Writes statuses that are not what they should be, and nothing else. */
export class StatusWriter {
  readonly #deps: StatusWriterDeps
  /** Object → the write that is on its way, or was done and is not seen in a watch yet. */
  readonly #done = new Map<string, string>()
  /** Objects whose status is what it should be, and what that was. */
  readonly #settled = new WeakMap<KubeObject, string>()

  constructor(deps: StatusWriterDeps) {
    this.#deps = deps
  }

  /** Resolves when all are written, or not to be written. Returns how many failed. */
  async write(snapshot: Snapshot, statuses: readonly ObjectStatus[]): Promise<number> {
    const queue = statuses.flatMap((status) => this.#prepare(snapshot, status))
    let failed = 0
    const worker = async () => {
      for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
        if (!(await this.#send(one))) failed++
      }
    }
    await Promise.all(Array.from({ length: Math.min(MAX_AT_ONCE, queue.length) }, worker))
    return failed
  }

  #prepare(snapshot: Snapshot, status: ObjectStatus): readonly Write[] {
    const { controllerName, versionOf, now = () => new Date().toISOString() } = this.#deps
    const { kind, namespace, name } = status
    const key = keyOf({ namespace, name })
    const live = objectsOf(snapshot, kind).get(key)
    const resource = kindNamed(kind)
    const version = versionOf(kind)
    if (live === undefined || resource === undefined || version === undefined) return []
    const text = JSON.stringify(status)
    if (this.#settled.get(live) === text) return []
    // Whole seconds, as the API has them: a fraction would come back without it.
    const time = now().replace(/\.\d+Z$/, 'Z')
    const body = composeStatus(live, status, controllerName, time)
    if (body === undefined) {
      this.#settled.set(live, text)
      return []
    }
    const { resourceVersion } = live.metadata
    const id = `${resourceVersion} ${text}`
    if (this.#done.get(`${kind} ${key}`) === id) return []
    const path = `${pathOf(resource, version, namespace, name)}/status`
    // With the version that was looked at: what another controller writes meanwhile is not lost.
    return [{ kind, key, path, id, body: { metadata: { resourceVersion }, status: body } }]
  }

  async #send({ kind, key, path, id, body }: Write): Promise<boolean> {
    const { client, onWrite } = this.#deps
    const known = `${kind} ${key}`
    this.#done.set(known, id)
    try {
      const { status, body: said } = await client.request('PATCH', path, {
        body,
        contentType: MERGE_PATCH,
      })
      if (status === 200) {
        onWrite(kind, key, 'written', '')
        return true
      }
      this.#done.delete(known)
      // It changed meanwhile, or is gone: the watch says so, and it is looked at again.
      const isStale = status === 409 || status === 404
      onWrite(kind, key, isStale ? 'conflict' : 'failed', messageOf(said))
      return isStale
    } catch (error) {
      this.#done.delete(known)
      onWrite(kind, key, 'failed', (error as Error).message)
      return false
    }
  }
}

function messageOf(body: unknown): string {
  const { message } = (body ?? {}) as { readonly message?: unknown }
  return typeof message === 'string' ? message : ''
}
