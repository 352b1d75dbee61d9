import type { Exchange } from '../exchange/exchange.ts'
import type { HeaderEdit } from '../exchange/header-edit.ts'
import type { Cluster } from '../upstream/cluster.ts'
import type { Waiting } from '../upstream/pool.ts'
import { renderTrailers } from '../wire/http1/chunked.ts'
import type { Fields } from '../wire/http1/fields.ts'
import type { RequestHead } from '../wire/http1/head.ts'
import { renderedEdit } from '../wire/http1/rendered-edit.ts'
import type { ResponseHead } from '../wire/http1/response-head.ts'
import { renderRequestHead } from '../wire/http1/write.ts'
import type { BodySink } from '../wire/streams.ts'
import type { ResponseEvents, UpstreamConnection } from '../wire/upstream-connection.ts'

/** Octets that wait for a mirror that is slower than the backend; beyond, it gets no more. */
export const MOST_WAITING = 1 << 20
const TIMEOUT = 30_000

/** A copy of a request for a backend whose answer nobody waits for, and which may not delay anybody. */
export class MirrorCopy implements BodySink, ResponseEvents, Waiting {
  readonly #method: string
  readonly #text: string
  readonly #hasBody: boolean
  readonly #done: (isAnswered: boolean, status: number) => void
  #upstream: UpstreamConnection | undefined
  #waiting: Buffer[] = []
  #size = 0
  #isWhole = false
  #trailers: Fields | undefined
  #isOver = false
  #status = 0

  private constructor(
    method: string,
    text: string,
    hasBody: boolean,
    done: (isAnswered: boolean, status: number) => void,
  ) {
    this.#method = method
    this.#text = text
    this.#hasBody = hasBody
    this.#done = done
  }

  /** `tell`: the status of the answer, or 0 where none came. */
  static send(
    head: RequestHead,
    exchange: Exchange,
    edit: HeaderEdit,
    cluster: Cluster,
    tell: (status: number) => void,
  ): MirrorCopy | undefined {
    const choice = cluster.choose(exchange, [])
    if (typeof choice === 'string') return undefined
    const { dropped, lines } = renderedEdit(edit)
    const text = renderRequestHead(head, {
      path: exchange.path,
      query: exchange.search,
      host: choice.host,
      framing: head.framing,
      length: head.length,
      lines,
      dropped,
      upgrade: '',
      expectContinue: false,
    })
    const startedAt = performance.now()
    const done = (isAnswered: boolean, status: number) => {
      choice.done({
        outcome: isAnswered ? 'answered' : 'cancelled',
        status: 0,
        duration: performance.now() - startedAt,
      })
      tell(isAnswered ? status : 0)
    }
    const copy = new MirrorCopy(head.method, text, head.framing !== 'none', done)
    const connection = choice.pool.take()
    if (connection !== undefined) copy.connected(connection)
    else choice.pool.request(copy)
    return copy
  }

  connected(connection: UpstreamConnection): void {
    this.#upstream = connection
    connection.send(this.#method, this.#text, this.#hasBody, TIMEOUT, this)
    for (const piece of this.#waiting) connection.write(piece)
    this.#waiting = []
    this.#size = 0
    if (this.#isWhole) this.#finish()
  }

  unconnected(): void {
    this.#over(false)
  }

  write(bytes: Buffer): boolean {
    if (this.#isOver) return true
    if (this.#upstream?.write(bytes) !== true) this.#size += bytes.length
    if (this.#upstream === undefined) this.#waiting.push(bytes)
    if (this.#size > MOST_WAITING) this.abort()
    return true
  }

  end(trailers: Fields | undefined): void {
    this.#isWhole = true
    this.#trailers = trailers
    if (this.#upstream !== undefined) this.#finish()
  }

  #finish(): void {
    if (!this.#hasBody || this.#isOver) return
    if (this.#trailers !== undefined) this.#upstream?.writeText(renderTrailers(this.#trailers))
    this.#upstream?.end()
  }

  abort(): void {
    if (this.#isOver) return
    this.#over(false)
    this.#upstream?.abort()
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

  #over(isAnswered: boolean): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#waiting = []
    this.#done(isAnswered, this.#status)
  }
}
