import type { CallEvents, CallHandle, OpenCall, OutgoingCall } from '../exchange/call.ts'
import type { ResponseHead } from '../wire/http1/response-head.ts'
import {
  isTimeout,
  type ResponseEvents,
  type UpstreamConnection,
} from '../wire/upstream-connection.ts'
import type { Attempt, Choice, Cluster } from './cluster.ts'
import { headersOf, renderLines, sendRequest } from './own-request.ts'
import type { Waiting } from './pool.ts'

/** Makes calls to the service behind a cluster, one attempt each, with streamed responses. */
export function caller(cluster: Cluster): OpenCall {
  return (exchange, call, events) => {
    const lines = renderLines(call)
    const choice = lines === undefined ? 'bad-call' : cluster.choose(exchange, [])
    if (typeof choice === 'string' || lines === undefined) {
      events.failed(typeof choice === 'string' ? choice : 'bad-call')
      return NO_CALL
    }
    return new Calling(choice, call, lines, events)
  }
}

const NO_CALL: CallHandle = { stop() {}, resume() {} }

class Calling implements Waiting, ResponseEvents, CallHandle {
  readonly idleTimeout: number
  readonly #choice: Choice
  readonly #call: OutgoingCall
  readonly #lines: string
  readonly #events: CallEvents
  readonly #startedAt = performance.now()
  #connection: UpstreamConnection | undefined
  /** Whether the connection was newly opened for this call. */
  #isFresh = false
  #status = 0
  #isOver = false

  constructor(choice: Choice, call: OutgoingCall, lines: string, events: CallEvents) {
    this.idleTimeout = call.idleTimeout
    this.#choice = choice
    this.#call = call
    this.#lines = lines
    this.#events = events
    const connection = choice.pool.take()
    if (connection === undefined) this.#open()
    else this.connected(connection)
  }

  stop(): void {
    if (this.#isOver) return
    const connection = this.#connection
    this.#over('cancelled')
    if (connection === undefined) this.#choice.pool.cancel(this)
    else connection.abort()
  }

  resume(): void {
    if (!this.#isOver) this.#connection?.resume()
  }

  connected(connection: UpstreamConnection): void {
    if (this.#isOver) {
      connection.release()
      return
    }
    this.#connection = connection
    sendRequest(connection, this.#call, this.#lines, this.#choice, this)
  }

  unconnected(reason: string): void {
    this.#fail(reason, 'connect-failed')
  }

  interim(): void {}

  response(head: ResponseHead): boolean {
    this.#status = head.status
    if (!this.#isOver) this.#events.response(head.status, headersOf(head.fields))
    return false
  }

  data(bytes: Buffer): boolean {
    return this.#isOver || this.#events.data(bytes)
  }

  ended(): void {
    if (this.#isOver) return
    this.#over('responded')
    this.#events.ended()
  }

  failed(reason: string, isUntouched: boolean): void {
    this.#connection = undefined
    if (this.#isOver) return
    // The service may close an idle connection at the moment it is reused.
    if (isUntouched && !this.#isFresh) this.#open()
    else this.#fail(reason, isTimeout(reason) ? 'timeout' : 'reset')
  }

  drained(): void {}

  #open(): void {
    this.#isFresh = true
    this.#choice.pool.request(this)
  }

  #fail(reason: string, outcome: Attempt['outcome']): void {
    if (this.#isOver) return
    this.#over(outcome)
    this.#events.failed(reason)
  }

  #over(outcome: Attempt['outcome']): void {
    this.#isOver = true
    const duration = performance.now() - this.#startedAt
    this.#choice.done({ outcome, status: this.#status, duration })
  }
}
