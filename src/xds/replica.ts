import type { Model } from '../model/model.ts'
import { assemble, isIntact, lanesOf, type ReceivedPart, readPart } from './parts.ts'
import {
  type DeltaDiscoveryRequest,
  type DeltaDiscoveryResponse,
  type Rejection,
  requestOf,
  TYPE_URL,
  WILDCARD,
} from './protocol.ts'
import { versionOfSet } from './snapshot.ts'

/** What a response came to. */
export type Received =
  /** More of the same snapshot follows. */
  | { readonly kind: 'incomplete' }
  | {
      readonly kind: 'model'
      readonly version: string
      readonly model: Model
      readonly parts: readonly StoredPart[]
    }
  /** All of it arrived, and some of it is not understood here. */
  | {
      readonly kind: 'rejected'
      readonly version: string
      readonly rejections: readonly Rejection[]
    }
  /** What is here is not what the controller thinks it is: begin again from nothing. */
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

/** The client's half, without the stream: the resources that a proxy has. */
export class Replica {
  readonly #parts = new Map<string, Held>()

  /** The first request of a stream: of what is here, only differences are sent. */
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
    for (const name of response.removedResources) this.#parts.delete(name)
    for (const { name, version, resource } of response.resources) {
      const known = this.#parts.get(name)
      if (known?.version === version) continue
      const bytes = resource?.value ?? new Uint8Array()
      const isPart = resource?.typeUrl === TYPE_URL
      this.#parts.set(
        name,
        (isPart && readPart(name, version, bytes)) || unread(name, version, bytes),
      )
    }
    if (response.systemVersionInfo === '') return { kind: 'incomplete' }
    return this.#complete(response.systemVersionInfo)
  }

  #complete(version: string): Received {
    const own = versionOfSet(this.#parts.values())
    if (own !== version) {
      return { kind: 'out-of-step', reason: `the resources here are ${own}, not ${version}` }
    }
    const parts: ReceivedPart[] = []
    const rejections: Rejection[] = []
    for (const part of this.#parts.values()) {
      if (part.section !== undefined) parts.push(part)
      else rejections.push(rejectionOf(part))
    }
    if (rejections.length > 0) return { kind: 'rejected', version, rejections }
    const model = assemble(parts)
    if (model === undefined) return { kind: 'out-of-step', reason: 'the resources make no Model' }
    return { kind: 'model', version, model, parts }
  }

  /** What was stored; undefined where it is not whole. */
  restore({ version, parts }: StoredModel): Restored | undefined {
    this.clear()
    for (const { name, version: own, bytes } of parts) {
      const part = readPart(name, own, bytes)
      if (part !== undefined && isIntact(part)) this.#parts.set(name, part)
    }
    const received = this.#complete(version)
    if (received.kind === 'model') return received
    this.clear()
    return undefined
  }

  clear(): void {
    this.#parts.clear()
  }
}

function unread(name: string, version: string, bytes: Uint8Array): UnreadPart {
  return { name, version, bytes, lanes: lanesOf(name, version), section: undefined }
}

function rejectionOf({ name, version }: UnreadPart): Rejection {
  const diagnostic = {
    code: 'PC0802',
    severity: 'error',
    message: `this version of the proxy does not understand the resource \`${name}\``,
    origin: { kind: 'object', object: name, field: '' },
    hint: 'run proxies of the same version as the controller',
  } as const
  return { resource: name, version, diagnostics: [diagnostic] }
}
