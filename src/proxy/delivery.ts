import { performance } from 'node:perf_hooks'
import { ResponseAttributes } from '../exchange/exchange.ts'
import { KeptHeaders } from '../exchange/kept-headers.ts'
import type { ForwardPermit, Permit } from '../program/permit.ts'
import { clusterOf, type Retry, type Selection } from '../program/program.ts'
import type { Attempt, Choice } from '../upstream/cluster.ts'
import { eventTime } from '../wire/event-clock.ts'
import { Http1Headers } from '../wire/http1/header-view.ts'
import { renderedEdit } from '../wire/http1/rendered-edit.ts'
import type { ResponseHead } from '../wire/http1/response-head.ts'
import type { BodySink } from '../wire/streams.ts'
import { isTimeout } from '../wire/upstream-connection.ts'
import { type Attempted, outcomeOf, type RetryReason } from './attempt-outcome.ts'
import type { CallOutName } from './call-outs.ts'
import { Forward } from './forward.ts'
import type { ForwardEvents } from './forward-events.ts'
import { KeptBody } from './kept-body.ts'
import { MirrorCopy } from './mirror.ts'
import { causeOf, isFailure, isReset, restAfter, statusCause } from './provider-failure.ts'
import type { ActiveDelivery, AttemptOutcome, Failover, RequestState } from './request-state.ts'
import { withoutTrace } from './trace-headers.ts'
import { undeliveredReason } from './undelivered-reason.ts'

/** Provides the response if no backend does. */
export interface DeliveryEvents {
  undelivered(state: RequestState, status: number, reason: string): void
  /** Calls `next` once another provider may be tried; responds if there is none. */
  select(
    state: RequestState,
    selection: Selection,
    permit: Permit<'backend'>,
    next: (provided: Permit<'provider'>) => void,
  ): void
  attempted(backend: string, attempted: Attempted): void
  retried(backend: string, reason: RetryReason): void
  /** Something threw during delivery. */
  broken(state: RequestState, error: unknown): void
  /** The same if it does not affect the request. */
  mirrorBroke(state: RequestState, error: unknown): void
}

/** Default timeout of an attempt, in milliseconds. */
export const DEFAULT_TIMEOUT = 60_000
/** A mirror receives bodies of any length, but they are not kept for it. */
const NOTHING_KEPT = 0

/** Delivers a request to a backend: attempts one after another, mirrors in parallel. */
export class Delivery implements ActiveDelivery, ForwardEvents {
  readonly #state: RequestState
  readonly #permit: Permit<'backend'>
  readonly #events: DeliveryEvents
  readonly #tried: string[] = []
  #body: KeptBody | undefined
  #isDecoded = false
  #isBodyBegun = false
  #mirrors: readonly BodySink[] = []
  #forward: Forward | undefined
  #choice: Choice | undefined
  #attemptedAt = 0
  #firstByte = -1
  /** The status that the backend sent, whatever the client receives. */
  #status = 0
  #timer: NodeJS.Timeout | undefined
  #isOver = false
  /** No policy set the host for the backend, so each endpoint uses its own. */
  readonly #takesHost: boolean
  /** Undefined if the request must not be retried in any case. */
  readonly #retry: Retry | undefined

  /** `read`: the body, if it was already read for an expression. */
  constructor(
    state: RequestState,
    permit: Permit<'backend'>,
    events: DeliveryEvents,
    read?: KeptBody,
  ) {
    this.#state = state
    this.#permit = permit
    this.#events = events
    this.#takesHost = state.exchange.host === ''
    const retry = state.route?.retry
    this.#retry = retry?.precondition?.(state.exchange) === false ? undefined : retry
    this.#body = read
    this.#isDecoded = read !== undefined
    this.#isBodyBegun = read !== undefined
  }

  /** `permit` is that of the backend, or of the selected provider. */
  start(permit: ForwardPermit): void {
    const { route, downstream, exchange } = this.#state
    this.#state.delivery = this
    const mirrors = route?.mirrors ?? []
    if (mirrors.length > 0) {
      const edit = this.#state.trace?.mirroring(this.#state) ?? withoutTrace(exchange.requestEdit)
      this.#mirrors = mirrors
        .filter(({ fraction }) => fraction >= 1 || Math.random() < fraction)
        .flatMap(({ cluster }) => {
          const report = (status: number) => {
            const outcome = status === 0 ? 'cancelled' : outcomeOf(status)
            const own = { outcome, purpose: 'mirror', firstByte: -1 } as const
            this.#events.attempted(cluster.name, own)
          }
          const { head } = downstream
          const broke = (error: unknown) => this.#events.mirrorBroke(this.#state, error)
          return (
            MirrorCopy.send(
              permit,
              head,
              exchange,
              edit,
              cluster,
              this.#isDecoded,
              report,
              broke,
            ) ?? []
          )
        })
    }
    this.#attempt(permit)
  }

  /** Another provider receives another body. */
  replaceBody(body: KeptBody): void {
    this.#body = body
    this.#isDecoded = true
    this.#isBodyBegun = true
  }

  /** Tries the next available provider, if the backend has providers. */
  #attemptNext(reason: Failover['reason']): void {
    const state = this.#state
    const { selection } = state
    if (selection === undefined) {
      this.#attempt(this.#permit)
      return
    }
    const { chosen: before } = selection
    this.#events.select(state, selection, this.#permit, (provided) => {
      if (this.#isOver) return
      if (before !== undefined && selection.chosen !== before) {
        state.failovers = [...state.failovers, { provider: before.provider, reason }]
      }
      this.#attempt(provided)
    })
  }

  stop(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#forward?.stop()
    this.#settle('cancelled', 'cancelled')
    this.#leaveMirrors()
  }

  /** The client has received all of the response. */
  finish(): void {
    this.#isOver = true
    // No other response may follow it.
    this.#forward?.stop()
    this.#settle('responded', outcomeOf(this.#status))
    this.#body?.abandon()
    this.#leaveMirrors()
  }

  /** Aborts mirrors that wait for a body which will not arrive. */
  #leaveMirrors(): void {
    if (this.#state.downstream.head.framing !== 'none')
      for (const mirror of this.#mirrors) mirror.abort('abandoned')
    this.#mirrors = []
  }

  /** The client accepts more of the response. */
  resume(): void {
    if (this.#state.policies === undefined) this.#forward?.resume()
    else this.#state.policies.drained()
  }

  /** The response policies accept more of the response. */
  proceed(): void {
    this.#forward?.resume()
  }

  /** A response arrived, and is replaced with another one. */
  replaced(): void {
    this.#settle('responded', outcomeOf(this.#status))
    this.stop()
  }

  #attempt(permit: ForwardPermit): void {
    const state = this.#state
    const { backend, route, exchange, downstream } = state
    const choice = clusterOf(backend)?.choose(exchange, this.#tried) ?? 'no-endpoint'
    if (typeof choice === 'string') {
      if (this.#mayFailOver()) {
        this.#attemptNext('unhealthy')
        return
      }
      this.#isOver = true
      this.#events.undelivered(state, 503, choice)
      return
    }
    this.#choice = choice
    this.#attemptedAt = performance.now()
    this.#firstByte = -1
    this.#status = 0
    if (state.sentAt === 0) state.sentAt = this.#attemptedAt
    this.#tried.push(choice.endpoint)
    state.endpoint = choice.endpoint
    if (this.#takesHost) {
      const named = choice.host || (exchange.namesBackend ? (choice.name ?? '') : '')
      exchange.host = named || ownHost(downstream.head.host, choice)
    }
    state.trace?.attempting(state)
    const timeout = backend?.requestTimeout || route?.timeouts.backendRequest || DEFAULT_TIMEOUT
    const idle = backend?.responseIdle || route?.timeouts.responseIdle || 0
    this.#forward = new Forward(permit, downstream, exchange, choice.pool, timeout, idle, this)
    this.#forward.encodes = this.#isDecoded && downstream.head.framing === 'chunked'
    this.#forward.isDirect = this.#isDirect()
    this.#forward.start()
  }

  broke(callOut: CallOutName, error: unknown): void {
    this.#state.callOut = callOut
    this.#events.broken(this.#state, error)
  }

  /** Whether the body goes to only one backend, and only once. */
  #isDirect(): boolean {
    return this.#body === undefined && this.#retry === undefined && this.#mirrors.length === 0
  }

  sent(forward: Forward): void {
    const { downstream } = this.#state
    if (this.#isDirect()) {
      this.#isBodyBegun = true
      downstream.readBody(forward, forward.takesFraming)
      return
    }
    this.#body ??= new KeptBody(this.#retry?.maxBody ?? NOTHING_KEPT)
    this.#body.sendTo(forward, ...this.#mirrors)
    this.#mirrors = []
    if (this.#isBodyBegun) downstream.resumeBody()
    else {
      this.#isBodyBegun = true
      downstream.readBody(this.#body, true)
    }
  }

  accepts(_: Forward, head: ResponseHead): boolean {
    const state = this.#state
    const now = eventTime()
    this.#firstByte = now - this.#attemptedAt
    this.#status = head.status
    if (state.listener.needs?.responseHeaders || state.backend?.judgesResponses) {
      const { exchange } = state
      const headers = new Http1Headers(head.fields)
      const kept = new KeptHeaders(headers, exchange.responseEdit)
      const { id } = exchange.request
      if (id !== '' && !renderedEdit(exchange.responseEdit).namesId) kept.set('x-request-id', id)
      exchange.responseHeaders = kept
    }
    const retry = this.#retry
    const reason = retry && this.#mayRetry(retry) ? this.#reasonToRetry(retry, head) : undefined
    const isFailed = isFailure(head.status)
    state.selection?.responded(isFailed ? -1 : this.#firstByte)
    if (isFailed) state.selection?.rest(restAfter(head))
    if (retry !== undefined && reason !== undefined) {
      this.#settle('responded', outcomeOf(head.status))
      this.#again(retry, reason, statusCause(head))
      return false
    }
    if (state.call !== undefined && isFailed && this.#mayFailOver()) {
      this.#settle('responded', outcomeOf(head.status))
      this.#failOver('status', statusCause(head))
      return false
    }
    const response = state.call?.response
    if (response !== undefined) response.isFinal = this.#tried.length > 1
    state.responded(now)
    return true
  }

  failedLate(head: ResponseHead): boolean {
    const forward = this.#forward
    this.#state.exchange.status = head.status
    if (forward === undefined || this.accepts(forward, head)) return false
    forward.stop()
    return true
  }

  /** Why to retry after this response, if at all. The condition reads it as the backend sent it. */
  #reasonToRetry(retry: Retry, head: ResponseHead): RetryReason | undefined {
    if (retry.statuses.has(head.status)) return 'status'
    if (retry.condition === undefined) return undefined
    const { exchange, startedAt } = this.#state
    const headers = new Http1Headers(head.fields)
    exchange.response = new ResponseAttributes(exchange, performance.now() - startedAt, headers)
    const isTrue = retry.condition(exchange)
    // The response that is logged is created when everything is over.
    exchange.response = undefined
    return isTrue ? 'condition' : undefined
  }

  withoutResponse(_: Forward, status: number, reason: string, isUntouched: boolean): void {
    const isConnect = status === 503 || reason === 'connect-timeout'
    const isOurs = reason === 'overloaded' || reason === 'pending-timeout'
    if (!isOurs) this.#state.selection?.responded(-1)
    // Waiting in vain for a free connection says nothing about the endpoint.
    if (isOurs) this.#settle('cancelled', 'shed')
    else if (isConnect) this.#settle('connect-failed', 'connect')
    else this.#settleBroken(reason)
    const retry = this.#retry
    // The client would receive 504 for an attempt that timed out.
    const isTooLate = isTimeout(reason) && retry?.statuses.has(504) === true
    const isBroken = retry?.onConnectionError === true && (isUntouched || isConnect)
    if (retry !== undefined && (isTooLate || isBroken) && this.#mayRetry(retry)) {
      this.#again(retry, isConnect ? 'connect' : isTimeout(reason) ? 'timeout' : 'reset')
      return
    }
    // Output of a model that no client has read is no loss: a call may be repeated elsewhere.
    if ((isConnect || this.#state.call !== undefined) && !isOurs && this.#mayFailOver()) {
      this.#failOver(isConnect ? 'connect' : isTimeout(reason) ? 'timeout' : 'reset')
      return
    }
    this.#isOver = true
    this.#events.undelivered(this.#state, status, reason)
  }

  #failOver(reason: RetryReason, cause = causeOf(reason)): void {
    this.#state.retries++
    this.#events.retried(this.#clusterName(), reason)
    this.#attemptNext(cause)
  }

  /** Whether there is another provider, and the body can still be sent to it. */
  #mayFailOver(): boolean {
    if (this.#isOver || this.#state.selection?.hasOther !== true) return false
    const isUnread = this.#state.downstream.head.framing === 'none' || !this.#isBodyBegun
    return isUnread || this.#body?.isReplayable === true
  }

  cut(forward: Forward, reason: string): void {
    const { exchange } = this.#state
    exchange.detail = reason
    exchange.reason = undeliveredReason(isTimeout(reason) ? 504 : 502, reason)
    this.#settleBroken(reason)
    forward.downstream.abort()
  }

  #mayRetry(retry: Retry): boolean {
    if (this.#isOver || this.#tried.length > retry.attempts) return false
    return this.#state.downstream.head.framing === 'none' || this.#body?.isReplayable === true
  }

  /** The delay doubles each time, with jitter, so that retries are not simultaneous. */
  #again(retry: Retry, reason: RetryReason, cause = causeOf(reason)): void {
    this.#state.retries++
    this.#events.retried(this.#clusterName(), reason)
    const delay = retry.backoff * 2 ** (this.#tried.length - 1) * (0.75 + Math.random() / 2)
    this.#timer = setTimeout(() => {
      this.#state.callOut = 'delivery'
      try {
        this.#attemptNext(cause)
      } catch (error) {
        this.#events.broken(this.#state, error)
      }
    }, delay)
  }

  #clusterName(): string {
    return clusterOf(this.#state.backend)?.name ?? ''
  }

  #settleBroken(reason: string): void {
    if (isTimeout(reason)) this.#settle('timeout', 'timeout')
    else this.#settle('reset', isReset(reason) ? 'reset' : 'invalid')
  }

  #settle(outcome: Attempt['outcome'], word: AttemptOutcome): void {
    const choice = this.#choice
    if (choice === undefined) return
    this.#choice = undefined
    // If the attempt is over at once, the event that ended it began before it.
    const duration = Math.max(0, eventTime() - this.#attemptedAt)
    choice.done({ outcome, status: this.#status, duration })
    const purpose = this.#tried.length > 1 ? 'retry' : 'proxy'
    this.#state.trace?.attempted(this.#state, word)
    const attempted = { outcome: word, purpose, firstByte: this.#firstByte } as const
    this.#events.attempted(this.#clusterName(), attempted)
  }
}

/** HTTP/1.0 requests may have no host; HTTP/1.1 requests, as to the backend, must have one. */
function ownHost(asked: string, { endpoint }: Choice): string {
  if (asked !== '') return ''
  return endpoint.startsWith('unix:') ? 'localhost' : endpoint
}
