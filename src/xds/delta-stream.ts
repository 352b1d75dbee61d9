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
  /** Of the snapshot. */
  readonly version: string
  /** Resources that it cannot serve; what they guard is denied there. */
  readonly rejections: readonly Rejection[]
}

/** The peer does not speak the protocol: the stream ends. */
export class ProtocolError extends Error {}

/**
 * The server's half of one stream, without the stream: what it was told and what is to be sent next.
 * It remembers the snapshot that was sent last and no resource of its own, so that a thousand
 * proxies of one Gateway share what they have. The next difference is computed when the one before
 * was acknowledged: a slow proxy skips what happened meanwhile, and nothing piles up for it.
 */
export class DeltaStream {
  readonly #maxBytes: number
  #node = ''
  #isOpen = false
  /** What the proxy said that it has; until the first snapshot was sent. */
  #initial: ReadonlyMap<string, string> = new Map()
  #sent: Snapshot | undefined
  #queue: Iterator<DeltaDiscoveryResponse> | undefined
  #nonces = 0
  #awaited: string | undefined

  /** `maxBytes`: about what the resources of one response may come to. */
  constructor(maxBytes = 512 * 1024) {
    this.#maxBytes = maxBytes
  }

  /** As the proxy calls itself. */
  get node(): string {
    return this.#node
  }

  /** Returns the outcome where this is the response to a snapshot. */
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
    // What was said of anything but the end of the last snapshot is out of date.
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

  /** The last one has the version of the snapshot: only then the proxy has all of it. */
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
