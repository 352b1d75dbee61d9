import type { Part } from './parts.ts'
import {
  type DeltaDiscoveryRequest,
  type DeltaDiscoveryResponse,
  type Rejection,
  rejectionsOf,
  responseOf,
  TYPE_URL,
  WILDCARD,
} from './protocol.ts'
import { type Delta, deltaBetween, deltaFrom, type Snapshot } from './snapshot.ts'

/** What a proxy did with the resources of a snapshot. */
export interface Outcome {
  /** The version of the snapshot. */
  readonly version: string
  /** Resources that the proxy cannot serve; it denies what they guard. */
  readonly rejections: readonly Rejection[]
}

/** The peer violates the protocol: the stream ends. */
export class ProtocolError extends Error {}

/**
 * The server's half of one stream, without the transport: what was received and what to send next.
 * It keeps only the snapshot that was sent last and no resources of its own, so that a thousand
 * proxies of one Gateway share them. The next difference is computed once the previous one is
 * acknowledged: a slow proxy skips what happened in between, and nothing queues up for it.
 */
export class DeltaStream {
  readonly #maxBytes: number
  #node = ''
  #isOpen = false
  /** The resources that the proxy reported, until the first snapshot is sent. */
  #initial: ReadonlyMap<string, string> = new Map()
  #sent: Snapshot | undefined
  #queue: Iterator<DeltaDiscoveryResponse> | undefined
  #nonces = 0
  #awaited: string | undefined

  /** `maxBytes` is the approximate max size of the resources in one response. */
  constructor(maxBytes = 512 * 1024) {
    this.#maxBytes = maxBytes
  }

  /** The name that the proxy reports. */
  get node(): string {
    return this.#node
  }

  /** Returns the outcome if this is the response to a snapshot. */
  receive(request: DeltaDiscoveryRequest): Outcome | undefined {
    if (request.typeUrl !== TYPE_URL) throw new ProtocolError(`unknown type \`${request.typeUrl}\``)
    const names = [...request.resourceNamesSubscribe, ...request.resourceNamesUnsubscribe]
    if (names.some((name) => name !== WILDCARD) || request.resourceNamesUnsubscribe.length > 0) {
      throw new ProtocolError('only the wildcard subscription `*` is available')
    }
    if (!this.#isOpen) {
      this.#isOpen = true
      this.#node = request.node?.id ?? ''
      this.#initial = new Map(Object.entries(request.initialResourceVersions))
      return undefined
    }
    // Only the response to the last message of the snapshot counts; others are out of date.
    if (this.#awaited === undefined || request.responseNonce !== this.#awaited) return undefined
    this.#awaited = undefined
    const { version } = this.#sent as Snapshot
    return { version, rejections: rejectionsOf(request) ?? [] }
  }

  /** The next response to send; undefined: nothing for now. */
  next(latest: Snapshot | undefined): DeltaDiscoveryResponse | undefined {
    const queued = this.#queue?.next()
    if (queued?.done === false) return queued.value
    this.#queue = undefined
    if (!this.#isOpen || this.#awaited !== undefined) return undefined
    if (latest === undefined || latest === this.#sent) return undefined
    const before = this.#sent
    this.#sent = latest
    if (before?.version === latest.version) return undefined
    const delta = before ? deltaBetween(before, latest) : deltaFrom(this.#initial, latest)
    this.#initial = new Map()
    this.#queue = this.#responses(delta, latest.version)
    return this.next(latest)
  }

  /** Only the last one has the version of the snapshot, since only then the proxy has all of it. */
  *#responses({ changed, removed }: Delta, version: string): Generator<DeltaDiscoveryResponse> {
    let at = 0
    do {
      const resources: Part[] = []
      for (let bytes = 0; at < changed.length && bytes < this.#maxBytes; at++) {
        const part = changed[at] as Part
        resources.push(part)
        bytes += part.bytes.length
      }
      const isLast = at >= changed.length
      const nonce = `${++this.#nonces}`
      if (isLast) this.#awaited = nonce
      yield responseOf({
        typeUrl: TYPE_URL,
        nonce,
        systemVersionInfo: isLast ? version : '',
        removedResources: isLast ? [...removed] : [],
        resources: resources.map(({ name, version: own, bytes }) => ({
          name,
          version: own,
          resource: { typeUrl: TYPE_URL, value: bytes },
        })),
      })
    } while (at < changed.length)
  }
}
