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
  /** A status was written in place of the one that the object had. */
  readonly onWritten?: (live: KubeObject, status: Readonly<Record<string, unknown>>) => void
}

/** Requests at once: an API server has other clients, too, and edits come through it. */
const MAX_AT_ONCE = 8

interface Write {
  readonly kind: string
  readonly key: string
  readonly path: string
  readonly live: KubeObject
  readonly made: Readonly<Record<string, unknown>>
  /** The object that was looked at, and what was to be written to it. */
  readonly id: string
}

/** Writes statuses that are not what they should be, and nothing else. */
export class StatusWriter {
  readonly #deps: StatusWriterDeps
  /** `kind namespace/name` → what is to be there, until it was seen to be. */
  readonly #pending = new Map<string, ObjectStatus>()
  /** Object → the write that is on its way, or was done and is not seen in a watch yet. */
  readonly #done = new Map<string, string>()

  constructor(deps: StatusWriterDeps) {
    this.#deps = deps
  }

  /**
   * Writes those of these statuses, and of those that could not be written before, that differ from
   * what the objects have. Resolves when all are written, or not to be written. Returns how many
   * failed. Whoever calls it names a status again when its object changed.
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

  /** Undefined: the object is gone, or has the status, or will have it. */
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
    // Whole seconds, as the API has them: a fraction would come back without it.
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
    // With the version that was looked at: what another controller writes meanwhile is not lost.
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

function idOf({ kind, namespace, name }: ObjectStatus): string {
  return `${kind} ${keyOf({ namespace, name })}`
}

function messageOf(body: unknown): string {
  const { message } = (body ?? {}) as { readonly message?: unknown }
  return typeof message === 'string' ? message : ''
}
