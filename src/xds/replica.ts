import type { Model } from '../model/model.ts'
import {
  type Assembled,
  assemble,
  isIntact,
  lanesOf,
  type ReceivedPart,
  readPart,
  reassemble,
} from './parts.ts'
import {
  type DeltaDiscoveryRequest,
  type DeltaDiscoveryResponse,
  type Rejection,
  requestOf,
  TYPE_URL,
  WILDCARD,
} from './protocol.ts'
import { PartSum } from './snapshot.ts'

/** The result of a response. */
export type Received =
  /** More of the same snapshot follows. */
  | { readonly kind: 'incomplete' }
  | {
      readonly kind: 'model'
      readonly version: string
      readonly model: Model
      readonly parts: readonly StoredPart[]
    }
  /** The snapshot is complete, but some of it is not understood here. */
  | {
      readonly kind: 'rejected'
      readonly version: string
      readonly rejections: readonly Rejection[]
    }
  /** The local resources are not what the controller assumes: start again from nothing. */
  | { readonly kind: 'out-of-step'; readonly reason: string }

export type Restored = Extract<Received, { readonly kind: 'model' }>

/** A resource as it is stored. */
export type StoredPart = Pick<ReceivedPart, 'name' | 'version' | 'bytes'>

export interface StoredModel {
  readonly version: string
  readonly parts: readonly StoredPart[]
}

type Held = ReceivedPart | UnreadPart

/** A resource that is not understood: kept, so that it is not sent again and again. */
interface UnreadPart {
  readonly name: string
  readonly version: string
  readonly lanes: ReceivedPart['lanes']
  readonly bytes: Uint8Array
  readonly section: undefined
}

/** The client's half, without the transport: the resources that a proxy has. */
export class Replica {
  readonly #parts = new Map<string, Held>()
  readonly #sum = new PartSum()
  /** The names of resources that are not understood. */
  readonly #unread = new Set<string>()
  /** The result of the last assembly. */
  #assembled: Assembled | undefined
  /** Names of parts whose content changed since; everything else is unchanged. */
  readonly #changed = new Set<string>()

  /** The first request of a stream: the controller then sends only differences. */
  begin(node: string): DeltaDiscoveryRequest {
    const versions = [...this.#parts.values()].map(({ name, version }) => [name, version])
    return requestOf({
      node: { id: node },
      typeUrl: TYPE_URL,
      resourceNamesSubscribe: [WILDCARD],
      initialResourceVersions: Object.fromEntries(versions),
    })
  }

  receive(response: DeltaDiscoveryResponse): Received {
    if (response.typeUrl !== TYPE_URL) {
      return { kind: 'out-of-step', reason: `unknown type \`${response.typeUrl}\`` }
    }
    for (const name of response.removedResources) this.#delete(name)
    for (const { name, version, resource } of response.resources) {
      const known = this.#parts.get(name)
      if (known?.version === version) continue
      const bytes = resource?.value ?? new Uint8Array()
      const isPart = resource?.typeUrl === TYPE_URL
      this.#put((isPart && readPart(name, version, bytes)) || unread(name, version, bytes))
    }
    if (response.systemVersionInfo === '') return { kind: 'incomplete' }
    return this.#complete(response.systemVersionInfo)
  }

  #complete(version: string): Received {
    const own = this.#sum.version
    if (own !== version) {
      return {
        kind: 'out-of-step',
        reason: `this proxy has version ${own} of the resources, not ${version}`,
      }
    }
    if (this.#unread.size > 0) {
      const unreadParts = [...this.#unread].map((name) => this.#parts.get(name) as UnreadPart)
      return { kind: 'rejected', version, rejections: unreadParts.map(rejectionOf) }
    }
    const parts = [...this.#parts.values()] as ReceivedPart[]
    const assembled = this.#reassembled() ?? assemble(parts)
    this.#assembled = assembled
    this.#changed.clear()
    if (assembled === undefined) {
      return { kind: 'out-of-step', reason: 'the resources are not a valid configuration' }
    }
    return { kind: 'model', version, model: assembled.model, parts }
  }

  /** Most edits put new content in known places. */
  #reassembled(): Assembled | undefined {
    const changed = [...this.#changed].map((name) => this.#parts.get(name) as ReceivedPart)
    return this.#assembled && reassemble(this.#assembled, changed)
  }

  #put(part: Held): void {
    const { name } = part
    const before = this.#parts.get(name)
    this.#parts.set(name, part)
    if (before !== undefined) this.#sum.toggle(before)
    this.#sum.toggle(part)
    if (part.section === undefined) this.#unread.add(name)
    else this.#unread.delete(name)
    const isInPlace =
      part.section === 'secrets' ||
      (part.section !== undefined &&
        before?.section === part.section &&
        before.after === part.after)
    if (isInPlace) this.#changed.add(name)
    else this.#assembled = undefined
  }

  #delete(name: string): void {
    const before = this.#parts.get(name)
    if (before === undefined) return
    this.#parts.delete(name)
    this.#sum.toggle(before)
    this.#unread.delete(name)
    this.#assembled = undefined
  }

  /** Restores a stored Model; undefined if it is incomplete. */
  restore({ version, parts }: StoredModel): Restored | undefined {
    this.clear()
    for (const { name, version: own, bytes } of parts) {
      const part = readPart(name, own, bytes)
      if (part !== undefined && isIntact(part)) this.#put(part)
    }
    const received = this.#complete(version)
    if (received.kind === 'model') return received
    this.clear()
    return undefined
  }

  clear(): void {
    for (const name of [...this.#parts.keys()]) this.#delete(name)
  }
}

function unread(name: string, version: string, bytes: Uint8Array): UnreadPart {
  return { name, version, bytes, lanes: lanesOf(name, version), section: undefined }
}

function rejectionOf({ name, version }: UnreadPart): Rejection {
  const diagnostic = {
    code: 'PC0802',
    severity: 'error',
    message: `this version of the proxy does not support resource \`${name}\``,
    origin: { kind: 'object', object: name, field: '' },
    hint: 'run proxies with the same version as the controller',
  } as const
  return { resource: name, version, diagnostics: [diagnostic] }
}
