import { readFile } from 'node:fs/promises'
import { createClient } from '@connectrpc/connect'
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node'
import type { Model } from '../model/model.ts'
import { AggregatedDiscoveryService } from '../protobuf/generated/envoy/service/discovery/v3/ads_pb.ts'
import {
  acknowledgement,
  type DeltaDiscoveryRequest,
  MAX_MESSAGE_BYTES,
  type Rejection,
} from './protocol.ts'
import type { Replica, StoredModel } from './replica.ts'

export interface XdsClientOptions {
  /** `https://host:port`, or `http://host:port` without TLS. */
  readonly address: string
  /** The name in the certificate of the controller, if it differs from the address. */
  readonly serverName?: string | undefined
  /** Files are read for each connection, so that rotated ones are used. */
  readonly caFile?: string | undefined
  readonly tokenFile?: string | undefined
  /** The name that the proxy reports. */
  readonly node: string
  readonly replica: Replica
  readonly events?: ClientEvents
  readonly backoff?: Backoff
  readonly pingInterval?: number
}

export interface ClientEvents {
  readonly connected?: () => void
  /** Why there is no connection, and the milliseconds until the next attempt. */
  readonly lost?: (reason: string, retryIn: number) => void
}

export interface Backoff {
  readonly min: number
  readonly max: number
  readonly random: () => number
}

const BACKOFF: Backoff = { min: 500, max: 15_000, random: Math.random }

/** A Model that the controller sent. */
export interface Delivered extends StoredModel {
  readonly model: Model
}

/** The acknowledgement that the controller expects once a version is in effect. */
interface Owed {
  readonly version: string
  readonly nonce: string
  readonly send: (request: DeltaDiscoveryRequest) => void
}

/**
 * Follows a controller: connects to it, again and again, until the signal is aborted. Code that
 * applies Models gets the newest one from `next` and reports the outcome to `settle`; only then is
 * the controller notified, and sends the next difference.
 */
export class XdsClient {
  readonly #options: XdsClientOptions
  #latest: Delivered | undefined
  #taken: string | undefined
  #settled: { readonly version: string; readonly rejections: readonly Rejection[] } | undefined
  #owed: Owed | undefined
  #wake = () => {}

  constructor(options: XdsClientOptions) {
    this.#options = options
  }

  /** The newest Model that was not returned before; undefined once the signal is aborted. */
  async next(signal: AbortSignal): Promise<Delivered | undefined> {
    while (!signal.aborted) {
      const latest = this.#latest
      if (latest !== undefined && latest.version !== this.#taken) {
        this.#taken = latest.version
        return latest
      }
      await new Promise<void>((resolve) => {
        this.#wake = () => {
          signal.removeEventListener('abort', this.#wake)
          resolve()
        }
        signal.addEventListener('abort', this.#wake)
      })
    }
    return undefined
  }

  /** Provides a Model that an earlier process stored: it comes first, and is not sent again. */
  resume(delivered: Delivered): void {
    this.#latest = delivered
  }

  /** Reports the outcome of applying the Model of a version. */
  settle(version: string, rejections: readonly Rejection[]): void {
    this.#settled = { version, rejections }
    const owed = this.#owed
    if (owed?.version !== version) return
    this.#owed = undefined
    owed.send(acknowledgement(owed.nonce, rejections))
  }

  async run(signal: AbortSignal): Promise<void> {
    const { events = {}, backoff = BACKOFF } = this.#options
    for (let failures = 0; !signal.aborted; ) {
      const stream = await this.#stream(signal)
      this.#owed = undefined
      if (signal.aborted) return
      failures = stream.hadModel ? 0 : failures + 1
      // Random within the interval: the proxies of a controller that went away return one by one.
      const wait = backoff.random() * Math.min(backoff.max, backoff.min * 2 ** failures)
      events.lost?.(stream.reason ?? 'the controller closed the stream', wait)
      await sleep(wait, signal)
    }
  }

  /** Runs one stream from its beginning to its end. */
  async #stream(signal: AbortSignal): Promise<{ hadModel: boolean; reason?: string }> {
    const { address, serverName, node, replica, events = {} } = this.#options
    const { pingInterval = 20_000 } = this.#options
    const requests = new Requests()
    const ending = new AbortController()
    const end = () => ending.abort()
    signal.addEventListener('abort', end)
    let sessions: Http2SessionManager | undefined
    let hadModel = false
    try {
      const { ca, headers } = await this.#credentials()
      const tls = { ca, ...(serverName !== undefined && { servername: serverName }) }
      sessions = new Http2SessionManager(address, { pingIntervalMs: pingInterval }, tls)
      const transport = createGrpcTransport({
        baseUrl: address,
        sessionManager: sessions,
        readMaxBytes: MAX_MESSAGE_BYTES,
        acceptCompression: [],
      })
      const client = createClient(AggregatedDiscoveryService, transport)
      requests.push(replica.begin(node))
      const responses = client.deltaAggregatedResources(requests, {
        headers,
        signal: ending.signal,
      })
      for await (const response of responses) {
        const received = replica.receive(response)
        const { nonce } = response
        if (received.kind === 'out-of-step') {
          replica.clear()
          return { hadModel, reason: received.reason }
        }
        const send = (request: DeltaDiscoveryRequest) => requests.push(request)
        if (received.kind === 'incomplete') send(acknowledgement(nonce, []))
        else {
          if (!hadModel) events.connected?.()
          hadModel = true
          if (received.kind === 'rejected') send(acknowledgement(nonce, received.rejections))
          else this.#receive(received, nonce, send)
        }
      }
      return { hadModel }
    } catch (error) {
      return { hadModel, reason: error instanceof Error ? error.message : String(error) }
    } finally {
      signal.removeEventListener('abort', end)
      requests.end()
      ending.abort()
      sessions?.abort()
    }
  }

  #receive(delivered: Delivered, nonce: string, send: Owed['send']): void {
    const { version } = delivered
    this.#latest = delivered
    this.#owed = { version, nonce, send }
    if (this.#settled?.version === version && this.#taken === version) {
      this.settle(version, this.#settled.rejections)
    } else this.#wake()
  }

  async #credentials(): Promise<{ ca: string | undefined; headers: Record<string, string> }> {
    const { caFile, tokenFile } = this.#options
    const read = async (file: string | undefined) =>
      file === undefined ? undefined : await readFile(file, 'utf8')
    const [ca, token] = await Promise.all([read(caFile), read(tokenFile)])
    return { ca, headers: token === undefined ? {} : { authorization: `Bearer ${token.trim()}` } }
  }
}

/** Outgoing messages, in order. There is at most one for each received message. */
class Requests implements AsyncIterable<DeltaDiscoveryRequest> {
  readonly #queue: DeltaDiscoveryRequest[] = []
  #isOver = false
  #wake = () => {}

  push(request: DeltaDiscoveryRequest): void {
    this.#queue.push(request)
    this.#wake()
  }

  end(): void {
    this.#isOver = true
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncIterator<DeltaDiscoveryRequest> {
    while (!this.#isOver) {
      const request = this.#queue.shift()
      if (request !== undefined) yield request
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
    }
  }
}

function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, milliseconds)
    function done() {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done)
  })
}
