import type { Exchange } from '../exchange/exchange.ts'
import { HeaderView } from '../exchange/header-view.ts'
import type {
  CallService,
  NoResponse,
  ServiceRequest,
  ServiceResponse,
} from '../exchange/service-call.ts'
import type { Fields } from '../wire/http1/fields.ts'
import type { ResponseHead } from '../wire/http1/response-head.ts'
import type { ResponseEvents, UpstreamConnection } from '../wire/upstream-connection.ts'
import type { Choice, Cluster } from './cluster.ts'
import { streamOpener } from './message-stream.ts'
import { headersOf, renderLines, sendRequest } from './own-request.ts'
import type { Waiting } from './pool.ts'

/** Concurrent calls; further calls fail instead of waiting, so that a slow service costs little. */
const MAX_CALLS = 1_024

/** Calls the service behind a cluster, one attempt per call, on an open connection if possible. */
export function serviceCaller(cluster: Cluster): CallService {
  let asking = 0
  const ask = async (exchange: Exchange, question: ServiceRequest) => {
    const lines = renderLines(question)
    if (lines === undefined) return { failure: 'bad-question' }
    if (asking >= MAX_CALLS) return { failure: 'overloaded' }
    const choice = cluster.choose(exchange, [])
    if (typeof choice === 'string') return { failure: choice }
    asking++
    try {
      return await new ServiceCall(choice, question, lines).settled
    } finally {
      asking--
    }
  }
  return Object.assign(ask, { open: streamOpener(cluster) })
}

/** One call in progress. */
class ServiceCall implements Waiting, ResponseEvents {
  /** The whole call has one timeout. */
  readonly idleTimeout: number = Number.POSITIVE_INFINITY
  readonly settled: Promise<ServiceResponse | NoResponse>
  readonly #choice: Choice
  readonly #question: ServiceRequest
  readonly #lines: string
  readonly #startedAt = performance.now()
  readonly #timer: NodeJS.Timeout
  #settle: (response: ServiceResponse | NoResponse) => void = () => {}
  #connection: UpstreamConnection | undefined
  /** Whether the connection was newly opened for this call. */
  #isFresh = false
  #status = 0
  #fields: readonly (readonly [string, string])[] = []
  #pieces: Buffer[] = []
  #size = 0
  #isOver = false

  constructor(choice: Choice, question: ServiceRequest, lines: string) {
    this.#choice = choice
    this.#question = question
    this.#lines = lines
    this.settled = new Promise((resolve) => {
      this.#settle = resolve
    })
    this.#timer = setTimeout(() => this.#give('timeout'), question.timeout)
    const connection = choice.pool.take()
    if (connection === undefined) this.#open()
    else this.connected(connection)
  }

  connected(connection: UpstreamConnection): void {
    if (this.#isOver) {
      connection.release()
      return
    }
    this.#connection = connection
    sendRequest(connection, this.#question, this.#lines, this.#choice, this)
  }

  unconnected(reason: string): void {
    this.#over({ failure: reason }, 'connect-failed')
  }

  interim(): void {}

  response(head: ResponseHead): boolean {
    this.#status = head.status
    this.#fields = headersOf(head.fields)
    return false
  }

  data(bytes: Buffer): boolean {
    this.#size += bytes.length
    if (this.#size > this.#question.maxBytes) this.#give('too-large')
    else this.#pieces.push(bytes)
    return true
  }

  ended(trailers: Fields | undefined): void {
    const response: ServiceResponse = {
      status: this.#status,
      headers: new ResponseHeaderChanges(this.#fields),
      fields: this.#fields,
      trailers: new Map(trailers === undefined ? [] : headersOf(trailers)),
      body: Buffer.concat(this.#pieces),
    }
    this.#over(response, 'responded')
  }

  failed(reason: string, isUntouched: boolean): void {
    this.#connection = undefined
    if (this.#isOver) return
    // The service may close an idle connection at the moment it is reused.
    if (isUntouched && !this.#isFresh) this.#open()
    else this.#over({ failure: reason }, 'reset')
  }

  drained(): void {}

  #open(): void {
    this.#isFresh = true
    this.#choice.pool.request(this)
  }

  /** Ends a call that timed out or whose response is too large. */
  #give(failure: 'timeout' | 'too-large'): void {
    if (this.#isOver) return
    const connection = this.#connection
    this.#over({ failure }, failure === 'timeout' ? 'timeout' : 'cancelled')
    if (connection === undefined) this.#choice.pool.cancel(this)
    else connection.abort()
  }

  #over(
    response: ServiceResponse | NoResponse,
    outcome: Parameters<Choice['done']>[0]['outcome'],
  ): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#pieces = []
    const duration = performance.now() - this.#startedAt
    this.#choice.done({ outcome, status: this.#status, duration })
    this.#settle(response)
  }
}

class ResponseHeaderChanges extends HeaderView {
  readonly #values = new Map<string, string>()
  readonly #lines = new Map<string, string[]>()

  constructor(fields: readonly (readonly [name: string, value: string])[]) {
    super()
    for (const [name, value] of fields) {
      const known = this.#values.get(name)
      this.#values.set(name, known === undefined ? value : `${known}, ${value}`)
      this.#lines.set(name, [...(this.#lines.get(name) ?? []), value])
    }
  }

  get size(): number {
    return this.#values.size
  }

  get(name: unknown): string | undefined {
    return typeof name === 'string' ? this.#values.get(name.toLowerCase()) : undefined
  }

  all(name: string): readonly string[] | undefined {
    return this.#lines.get(name.toLowerCase())
  }

  keys(): Iterable<string> {
    return this.#values.keys()
  }
}
