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
  /** Called after a status replaced the previous one of the object. */
  readonly onWritten?: (live: KubeObject, status: Readonly<Record<string, unknown>>) => void
}

/** Parallel requests: an API server has other clients, too, including those that make edits. */
const MAX_AT_ONCE = 8

interface Write {
  readonly kind: string
  readonly key: string
  readonly path: string
  readonly live: KubeObject
  readonly made: Readonly<Record<string, unknown>>
  /** Identifies the object that was compared, and the write. */
  readonly id: string
}

/** Writes statuses that differ from the desired ones, and nothing else. */
export class StatusWriter {
  readonly #deps: StatusWriterDeps
  /** `kind namespace/name` → the desired status, until a watch confirms it. */
  readonly #pending = new Map<string, ObjectStatus>()
  /** Object → the write in progress, or a completed one that no watch has confirmed yet. */
  readonly #done = new Map<string, string>()

  constructor(deps: StatusWriterDeps) {
    this.#deps = deps
  }

  /**
   * Writes these statuses, and those that failed before, if they differ from what the objects have.
   * Resolves when all are written or need no write. Returns how many failed. The caller passes a
   * status again when its object changes.
   */
  async write(snapshot: Snapshot, statuses: Iterable<ObjectStatus>): Promise<number> {
    for (const status of statuses) this.#pending.set(idOf(status), status)
    const queue: Write[] = []
    for (const [id, status] of this.#pending) {
      const write = this.#prepare(snapshot, status)
      if (write === undefined) this.#pending.delete(id)
      else queue.push(write)
    }
    let failed = 0
    const worker = async () => {
      for (let one = queue.shift(); one !== undefined; one = queue.shift()) {
        if (await this.#send(one)) this.#pending.delete(`${one.kind} ${one.key}`)
        else failed++
      }
    }
    await Promise.all(Array.from({ length: Math.min(MAX_AT_ONCE, queue.length) }, worker))
    return failed
  }

  /** Undefined if the object is gone, has the status, or is about to have it. */
  #prepare(snapshot: Snapshot, status: ObjectStatus): Write | undefined {
    const { controllerName, versionOf, now = () => new Date().toISOString() } = this.#deps
    const { kind, namespace, name } = status
    const key = keyOf({ namespace, name })
    const live = objectsOf(snapshot, kind).get(key)
    const resource = kindNamed(kind)
    const version = versionOf(kind)
    if (live === undefined || resource === undefined || version === undefined) {
      this.#done.delete(`${kind} ${key}`)
      return undefined
    }
    // Whole seconds, as in the API: the server would drop a fraction.
    const time = now().replace(/\.\d+Z$/, 'Z')
    const body = composeStatus(live, status, controllerName, time)
    if (body === undefined) {
      this.#done.delete(`${kind} ${key}`)
      return undefined
    }
    const { resourceVersion } = live.metadata
    const id = `${resourceVersion} ${JSON.stringify(status)}`
    if (this.#done.get(`${kind} ${key}`) === id) return undefined
    const path = `${pathOf(resource, version, namespace, name)}/status`
    return { kind, key, path, id, live, made: body }
  }

  async #send({ kind, key, path, id, live, made }: Write): Promise<boolean> {
    const { client, onWrite, onWritten } = this.#deps
    const { resourceVersion } = live.metadata
    // Includes the version that was compared, so that concurrent writes of other controllers are
    // not lost.
    const body = { metadata: { resourceVersion }, status: made }
    const known = `${kind} ${key}`
    this.#done.set(known, id)
    try {
      const { status, body: said } = await client.request('PATCH', path, {
        body,
        contentType: MERGE_PATCH,
      })
      if (status === 200) {
        onWrite(kind, key, 'written', '')
        onWritten?.(live, made)
        return true
      }
      this.#done.delete(known)
      // It changed or was deleted meanwhile: a watch reports this, and it is compared again.
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

function idOf({ kind, namespace, name }: ObjectStatus): string {
  return `${kind} ${keyOf({ namespace, name })}`
}

function messageOf(body: unknown): string {
  const { message } = (body ?? {}) as { readonly message?: unknown }
  return typeof message === 'string' ? message : ''
}
