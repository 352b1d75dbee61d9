import type { Retry } from '../program/program.ts'
import type { Attempt, Choice } from '../upstream/cluster.ts'
import type { ResponseHead } from '../wire/http1/response-head.ts'
import type { BodySink } from '../wire/streams.ts'
import { Forward, type ForwardEvents } from './forward.ts'
import { KeptBody } from './kept-body.ts'
import { MirrorCopy } from './mirror.ts'
import type { Run } from './run.ts'

/** Who gives the answer where no backend did. */
export interface DeliveryEvents {
  undelivered(run: Run, status: number, reason: string): void
}

const DEFAULT_TIMEOUT = 60_000
/** A mirror gets bodies of any length, but they are not kept for it. */
const NOTHING_KEPT = 0

/** A request on its way to a backend: attempts one after the other, mirrors beside. */
export class Delivery implements ForwardEvents {
  readonly #run: Run
  readonly #events: DeliveryEvents
  readonly #tried: string[] = []
  #body: KeptBody | undefined
  #isDecoded = false
  #isBodyBegun = false
  #mirrors: readonly BodySink[] = []
  #forward: Forward | undefined
  #choice: Choice | undefined
  #attemptedAt = 0
  #timer: NodeJS.Timeout | undefined
  #isOver = false
  /** No policy said which host the backend is asked for, so each endpoint says its own. */
  readonly #takesHost: boolean

  /** `read`: the body, where an expression had it read already. */
  constructor(run: Run, events: DeliveryEvents, read?: KeptBody) {
    this.#run = run
    this.#events = events
    this.#takesHost = run.exchange.host === ''
    this.#body = read
    this.#isDecoded = read !== undefined
    this.#isBodyBegun = read !== undefined
  }

  start(): void {
    const { route, downstream, exchange } = this.#run
    const mirrors = route?.mirrors ?? []
    if (mirrors.length > 0) {
      this.#mirrors = mirrors
        .filter(({ fraction }) => fraction >= 1 || Math.random() < fraction)
        .flatMap(({ cluster }) => MirrorCopy.send(downstream.head, exchange, cluster) ?? [])
    }
    this.#attempt()
  }

  stop(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#forward?.stop()
    this.#settle('cancelled')
  }

  /** The answer is with the client, all of it. */
  finish(): void {
    this.#isOver = true
    this.#settle('answered')
  }

  resume(): void {
    this.#forward?.resume()
  }

  #attempt(): void {
    const run = this.#run
    const { backend, route, exchange, downstream } = run
    const choice = backend?.cluster.choose(exchange, this.#tried) ?? 'no-endpoint'
    if (typeof choice === 'string') {
      this.#isOver = true
      this.#events.undelivered(run, 503, choice)
      return
    }
    this.#choice = choice
    this.#attemptedAt = performance.now()
    this.#tried.push(choice.endpoint)
    run.endpoint = choice.endpoint
    if (this.#takesHost) exchange.host = choice.host
    const timeout = backend?.requestTimeout || route?.timeouts.backendRequest || DEFAULT_TIMEOUT
    this.#forward = new Forward(downstream, exchange, choice.pool, timeout, this)
    this.#forward.encodes = this.#isDecoded && downstream.head.framing === 'chunked'
    this.#forward.start()
  }

  sent(forward: Forward): void {
    const { downstream, route } = this.#run
    const retry = route?.retry
    if (this.#body === undefined && retry === undefined && this.#mirrors.length === 0) {
      downstream.readBody(forward, true)
      return
    }
    this.#body ??= new KeptBody(retry?.mostBody ?? NOTHING_KEPT)
    this.#body.sendTo(forward, ...this.#mirrors)
    this.#mirrors = []
    if (this.#isBodyBegun) downstream.resumeBody()
    else {
      this.#isBodyBegun = true
      downstream.readBody(this.#body, true)
    }
  }

  accepts(_: Forward, head: ResponseHead): boolean {
    const retry = this.#run.route?.retry
    if (retry === undefined || !retry.statuses.has(head.status) || !this.#mayRetry(retry))
      return true
    this.#run.exchange.status = head.status
    this.#settle('answered')
    this.#again(retry)
    return false
  }

  unanswered(_: Forward, status: number, reason: string, isUntouched: boolean): void {
    const isConnect = status === 503 || reason === 'connect-timeout'
    const isOurs = reason === 'overloaded' || reason === 'pending-timeout'
    // Waiting in vain for a free connection says nothing of the endpoint.
    if (isOurs) this.#settle('cancelled')
    else this.#settle(reason === 'timeout' ? 'timeout' : isConnect ? 'connect-failed' : 'reset')
    const retry = this.#run.route?.retry
    if (retry?.onConnectionError && (isUntouched || isConnect) && this.#mayRetry(retry)) {
      this.#again(retry)
      return
    }
    this.#isOver = true
    this.#events.undelivered(this.#run, status, reason)
  }

  cut(forward: Forward, reason: string): void {
    const { exchange } = this.#run
    exchange.reason = 'upstream-reset'
    exchange.detail = reason
    this.#settle('reset')
    forward.downstream.abort()
  }

  #mayRetry(retry: Retry): boolean {
    if (this.#isOver || this.#tried.length > retry.attempts) return false
    return this.#run.downstream.head.framing === 'none' || this.#body?.isReplayable === true
  }

  /** Doubled each time, and never all at once. */
  #again(retry: Retry): void {
    const delay = retry.backoff * 2 ** (this.#tried.length - 1) * (0.75 + Math.random() / 2)
    this.#timer = setTimeout(() => this.#attempt(), delay)
  }

  #settle(outcome: Attempt['outcome']): void {
    const choice = this.#choice
    if (choice === undefined) return
    this.#choice = undefined
    const { status } = this.#run.exchange
    choice.done({ outcome, status, duration: performance.now() - this.#attemptedAt })
  }
}
