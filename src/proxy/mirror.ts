import type { Exchange } from '../exchange/exchange.ts'
import type { HeaderEdit } from '../exchange/header-edit.ts'
import type { ForwardPermit } from '../program/permit.ts'
import type { Cluster, RequestPool } from '../upstream/cluster.ts'
import { MIRROR_IDLE } from '../upstream/idle-timeouts.ts'
import type { Waiting } from '../upstream/pool.ts'
import { hideOfSet, type NameSet } from '../wire/http1/field-lines.ts'
import type { Fields } from '../wire/http1/fields.ts'
import { requestLines } from '../wire/http1/forwarded-lines.ts'
import type { RequestHead } from '../wire/http1/head.ts'
import { renderedEdit } from '../wire/http1/rendered-edit.ts'
import { droppedWithId } from '../wire/http1/request-id-line.ts'
import type { ResponseHead } from '../wire/http1/response-head.ts'
import { renderRequestHead } from '../wire/http1/write.ts'
import type { BodySink } from '../wire/streams.ts'
import type { ResponseEvents, UpstreamConnection } from '../wire/upstream-connection.ts'
import { KeptPieces } from './kept-pieces.ts'
import { endBody, writeBody } from './request-body.ts'

/** Max bytes that wait for a mirror that is slower than the backend; then it receives no more. */
export const MAX_WAITING = 1 << 20

/** A copy of a request for a backend whose response is ignored, and which must not cause delays. */
export class MirrorCopy implements BodySink, ResponseEvents, Waiting {
  readonly idleTimeout = MIRROR_IDLE
  readonly #method: string
  readonly #text: string
  readonly #dropped: NameSet
  readonly #hasBody: boolean
  /** The body arrives without its chunk framing. */
  readonly #encodes: boolean
  readonly #pool: RequestPool
  readonly #done: (hasResponded: boolean, status: number) => void
  readonly #broke: (error: unknown) => void
  #upstream: UpstreamConnection | undefined
  readonly #waiting = new KeptPieces()
  #size = 0
  #isWhole = false
  #trailers: Fields | undefined
  #isOver = false
  #status = 0

  private constructor(
    method: string,
    text: string,
    dropped: NameSet,
    hasBody: boolean,
    encodes: boolean,
    pool: RequestPool,
    done: (hasResponded: boolean, status: number) => void,
    broke: (error: unknown) => void,
  ) {
    this.#method = method
    this.#text = text
    this.#dropped = dropped
    this.#hasBody = hasBody
    this.#encodes = encodes
    this.#pool = pool
    this.#done = done
    this.#broke = broke
  }

  /**
   * `isDecoded`: the body was already read, and arrives without its chunk framing. `report`
   * receives the status of the response, or 0 if there was none. `broke` receives an exception; the
   * copy is then abandoned.
   */
  static send(
    _: ForwardPermit,
    head: RequestHead,
    exchange: Exchange,
    edit: HeaderEdit,
    cluster: Cluster,
    isDecoded: boolean,
    report: (status: number) => void,
    broke: (error: unknown) => void,
  ): MirrorCopy | undefined {
    try {
      return MirrorCopy.#send(head, exchange, edit, cluster, isDecoded, report, broke)
    } catch (error) {
      broke(error)
      return undefined
    }
  }

  static #send(
    head: RequestHead,
    exchange: Exchange,
    edit: HeaderEdit,
    cluster: Cluster,
    isDecoded: boolean,
    report: (status: number) => void,
    broke: (error: unknown) => void,
  ): MirrorCopy | undefined {
    const choice = cluster.choose(exchange, [])
    if (typeof choice === 'string') return undefined
    const rendered = renderedEdit(edit)
    const text = renderRequestHead(head, {
      path: exchange.path,
      query: exchange.search,
      host: choice.host,
      framing: head.framing,
      length: head.length,
      lines: requestLines(edit, exchange),
      dropped: droppedWithId(renderedEdit(edit), exchange.request.id),
      upgrade: '',
      expectContinue: false,
    })
    const startedAt = performance.now()
    const done = (hasResponded: boolean, status: number) => {
      choice.done({
        outcome: hasResponded ? 'responded' : 'cancelled',
        status: 0,
        duration: performance.now() - startedAt,
      })
      report(hasResponded ? status : 0)
    }
    const { pool } = choice
    const encodes = isDecoded && head.framing === 'chunked'
    const hasBody = head.framing !== 'none'
    const { dropped } = rendered
    const copy = new MirrorCopy(head.method, text, dropped, hasBody, encodes, pool, done, broke)
    // The path or the host cannot be written: the request is not sent, so it is not copied either.
    if (text === '') {
      copy.abort()
      return undefined
    }
    const connection = pool.take()
    if (connection !== undefined) copy.connected(connection)
    else pool.request(copy)
    return copy
  }

  connected(connection: UpstreamConnection): void {
    if (this.#isOver) {
      connection.release()
      return
    }
    this.#upstream = connection
    this.#guard(() => {
      connection.send(this.#method, this.#text, this.#hasBody, MIRROR_IDLE, this)
      for (const piece of this.#waiting.all()) writeBody(connection, piece, this.#encodes)
      this.#waiting.clear()
      this.#size = 0
      if (this.#isWhole) this.#finish()
    })
  }

  /** An exception affects neither the request nor the connection that it is on. */
  #guard(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#broke(error)
      this.abort()
    }
  }

  unconnected(): void {
    this.#over(false)
  }

  write(bytes: Buffer): boolean {
    if (this.#isOver) return true
    this.#guard(() => {
      const upstream = this.#upstream
      const isTaken = upstream !== undefined && writeBody(upstream, bytes, this.#encodes)
      if (!isTaken) this.#size += bytes.length
      if (upstream === undefined) this.#waiting.add(bytes)
      if (this.#size > MAX_WAITING) this.abort()
    })
    return true
  }

  end(trailers: Fields | undefined): void {
    this.#isWhole = true
    this.#trailers = trailers
    if (this.#upstream !== undefined) this.#guard(() => this.#finish())
  }

  #finish(): void {
    const upstream = this.#upstream
    if (!this.#hasBody || this.#isOver || upstream === undefined) return
    if (this.#trailers !== undefined) hideOfSet(this.#dropped, this.#trailers)
    endBody(upstream, this.#trailers, this.#encodes)
  }

  abort(): void {
    if (this.#isOver) return
    this.#over(false)
    try {
      this.#pool.cancel(this)
      this.#upstream?.abort()
    } catch (error) {
      this.#broke(error)
    }
  }

  interim(): void {}

  response({ status }: ResponseHead): boolean {
    this.#status = status
    return false
  }

  data(): boolean {
    return true
  }

  ended(): void {
    this.#over(true)
  }

  failed(): void {
    this.#over(false)
  }

  drained(): void {
    this.#size = 0
  }

  #over(hasResponded: boolean): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#waiting.clear()
    try {
      this.#done(hasResponded, this.#status)
    } catch (error) {
      this.#broke(error)
    }
  }
}
