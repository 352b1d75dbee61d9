// HOT PATH: what happens to a request, in order. Guarded by bench/proxy.ts.

import { RequestAttributes } from '../exchange/attributes.ts'
import { Exchange } from '../exchange/exchange.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import { type ForwardPermit, isPassed, Permit } from '../program/permit.ts'
import {
  type AiUpstream,
  isReply,
  type McpUpstream,
  type RouteProgram,
  type Selection,
} from '../program/program.ts'
import { hasWayBack } from '../program/way-back.ts'
import type { Downstream, DownstreamEvents } from '../wire/downstream.ts'
import { eventDate, eventTime } from '../wire/event-clock.ts'
import { fieldLine, NO_LINES } from '../wire/http1/field-lines.ts'
import { joinedValue } from '../wire/http1/fields.ts'
import { Http1Headers } from '../wire/http1/header-view.ts'
import { normalisePath } from '../wire/http1/path.ts'
import { type Rejection, reject, rejectionOf } from '../wire/http1/rejections.ts'
import { RequestNames } from '../wire/http1/request-names.ts'
import type { Attempted, RetryReason } from './attempt-outcome.ts'
import { roomFor } from './body-room.ts'
import { ClientAddress } from './client-address.ts'
import { Delivery, type DeliveryEvents } from './delivery.ts'
import type { KeptBody } from './kept-body.ts'
import { McpDelivery } from './mcp-delivery.ts'
import { PolicyDownstream } from './policy-downstream.ts'
import type { RequestReading } from './port-plan.ts'
import { type BodyNeeds, readBody } from './read-body.ts'
import { OVERLOADED, writeRejection, writeReply } from './replies.ts'
import { RequestEnds } from './request-ends.ts'
import { idOf } from './request-id.ts'
import { hasResponded, RequestState } from './request-state.ts'
import { undeliveredReply } from './undelivered-reason.ts'

export type { Observer, Port } from './port.ts'

const DEFAULT_READING: RequestReading = {
  keepsSlashes: false,
  names: new RequestNames({ underscores: 'Auto', forwardsTrailers: false }),
  forwarded: 'Auto',
}

/** RFC 9110 §15.5.6: a 405 response lists the allowed methods. */
const ALLOW = fieldLine('allow', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE') ?? NO_LINES

export class RequestLoop extends RequestEnds implements DownstreamEvents, DeliveryEvents {
  readonly #client: ClientAddress = new ClientAddress(this.connection)

  // An exception below one of these events concerns one request: it must not reach the code that
  // read the socket, where it would end the process.

  request(downstream: Downstream): void {
    try {
      this.#request(downstream)
    } catch (error) {
      this.brokenIn(downstream, error)
    }
  }

  #request(downstream: Downstream): void {
    const { head } = downstream
    const { keepsSlashes, names, forwarded } = this.port.reading ?? DEFAULT_READING
    const path = head.form === 'authority' ? '' : normalisePath(head.path, keepsSlashes)
    const listener = this.port.listeners.forHost(head.host)
    if (typeof path === 'number' || path === '' || listener === undefined) {
      this.#reject(downstream, this.#rejectionOf(path, head.host))
      return
    }
    const source = this.#client.sourceOf(head.fields, this.port.trustedHops)
    if (source === undefined) {
      this.#reject(downstream, rejectionOf(reject('bad-forwarded-for')))
      return
    }
    const verdict = names.checkHeaders(head.fields)
    if (verdict < 0) {
      this.#reject(downstream, rejectionOf(verdict))
      return
    }
    head.filterTrailers = names.filterTrailers
    const request = new RequestAttributes(
      head.method,
      path,
      head.query,
      head.host,
      this.connection.isEncrypted ? 'https' : 'http',
      downstream.version,
      new Http1Headers(head.fields),
      eventDate(),
    )
    request.id = idOf(head.fields, this.port)
    const exchange = new Exchange(this.connection, request, source)
    exchange.forwarded = this.#client.forwarded(forwarded, head, exchange, this.port.trustedHops)
    const state = new RequestState(downstream, exchange, listener, eventTime())
    downstream.exchange = state
    state.callOut = 'telemetry'
    this.port.observer.began(state)
    state.callOut = 'request'
    state.route = listener.match(exchange)
    exchange.errorFormat = state.route.errorFormat
    const { load } = this.port
    state.isCounted = load !== undefined
    const shedding = load?.begin()
    if (shedding !== undefined) {
      this.#reply(state, { ...OVERLOADED, detail: shedding })
      return
    }
    this.#limit(state, state.route)
    if (head.framing === 'length' && head.length > this.port.maxUpload) {
      this.#tooLarge(state, 'body-too-large')
      return
    }
    const { route } = state
    const whole = route.readsBody || route.bodyPaths?.has(path) === true
    const readsBody = whole || route.readsBeginning || listener.needs?.requestBody === true
    if (readsBody && head.framing !== 'none') {
      const needs = { whole, decoded: route.decodesBody === true }
      this.#readFirst(state, needs, () => this.#policies(state))
    } else this.#policies(state)
  }

  #reject(downstream: Downstream, rejection: Rejection): void {
    // What follows may not be meant as a request: for example, bytes of a rejected tunnel.
    const { head } = downstream
    head.keepAlive = false
    const { method, host, path, fields } = head
    const id = idOf(fields, this.port)
    const more = rejection.status === 405 ? ALLOW : NO_LINES
    const request = { id, gateway: this.port.gateway, method, host, path }
    const recorded = this.recordedRejection(rejection, request)
    writeRejection(downstream, recorded, rejection.status, id, joinedValue(fields, 'accept'), more)
  }

  #rejectionOf(path: string | number, host: string): Rejection {
    if (typeof path === 'number') return rejectionOf(path)
    if (path === '') return { word: 'bad-target', status: 405 }
    return { word: 'bad-host', status: this.port.isMisdirected?.(host) ? 421 : 404 }
  }

  /** Starts the route's timeout for the whole exchange. */
  #limit(state: RequestState, route: RouteProgram): void {
    if (route.timeouts.request === 0) return
    state.deadline = state.startedAt + route.timeouts.request
    state.onExpired = (own) => this.#expired(own)
    this.port.deadlines.add(state)
  }

  #expired(state: RequestState): void {
    state.deadline = Number.POSITIVE_INFINITY
    if (state.isOver) return
    state.callOut = 'timer'
    try {
      state.delivery?.stop()
      if (!state.downstream.isResponding) this.#reply(state, reply(504, 'request-timeout'))
      else {
        state.exchange.reason = 'request-timeout'
        state.downstream.abort()
      }
    } catch (error) {
      this.broken(state, error)
    }
  }

  /** The connection closes afterwards: the rest of the body is not needed. */
  #tooLarge(state: RequestState, detail: string): void {
    state.downstream.head.keepAlive = false
    this.#reply(state, { ...reply(413, 'too-large'), detail })
  }

  /** Reads the body before anything that needs it. */
  #readFirst(state: RequestState, needs: BodyNeeds, next: () => void): void {
    readBody(state, this.port, needs, (take) => {
      if (hasResponded(state)) return
      state.callOut = 'body'
      try {
        this.#when(state, take(), next)
      } catch (error) {
        this.broken(state, error)
      }
    })
  }

  #policies(state: RequestState): void {
    state.callOut = 'policy'
    const verdict = Permit.traffic(this.permit, state.route as RouteProgram, state.exchange)
    this.#when(state, verdict, (permit) => this.#choose(state, permit))
  }

  #choose(state: RequestState, permit: Permit<'traffic'>): void {
    state.callOut = 'backend'
    const backend = (state.route as RouteProgram).choose(state.exchange)
    if (isReply(backend)) {
      this.#reply(state, backend)
      return
    }
    state.backend = backend
    this.#when(state, Permit.backend(permit, backend, state.exchange), (own) => {
      const { upstream } = backend
      if (upstream.kind === 'ai') this.#call(state, upstream, own)
      else if (upstream.kind === 'mcp') this.#serveMcp(state, upstream, own)
      else this.#deliver(state, own, own)
    })
  }

  /** A model call is read before a provider is selected, since rules read it. */
  #call(state: RequestState, upstream: AiUpstream, permit: Permit<'backend'>): void {
    const { exchange, downstream } = state
    const call = upstream.open(exchange)
    if (call !== undefined && 'status' in call) {
      this.#reply(state, call)
      return
    }
    state.call = call
    if (call !== undefined && state.listener.needs?.completion) call.keepsCompletion = true
    const provide = () => this.#provide(state, upstream, permit)
    const ready = () => this.#when(state, call?.read(exchange.request.body, exchange), provide)
    if (call?.readsBody !== true) provide()
    else if (state.body !== undefined || downstream.head.framing === 'none') ready()
    else this.#readFirst(state, { whole: true, decoded: true, isCall: true }, ready)
  }

  /** An MCP message is read before anything is sent, since rules read it. */
  #serveMcp(state: RequestState, upstream: McpUpstream, permit: Permit<'backend'>): void {
    const { downstream, route, backend } = state
    const ready = () => {
      state.callOut = 'delivery'
      if (hasWayBack(route) || hasWayBack(backend)) this.#policiesOf(state)
      new McpDelivery(state, this).start(upstream, permit)
    }
    if (state.body !== undefined || downstream.head.framing === 'none') ready()
    else this.#readFirst(state, { whole: true, decoded: true }, ready)
  }

  #provide(state: RequestState, upstream: AiUpstream, permit: Permit<'backend'>): void {
    state.callOut = 'provider'
    // Any of them may be the one that responds.
    if (state.call !== undefined || upstream.providers.some(hasWayBack)) this.#policiesOf(state)
    const selection = upstream.select(state.exchange, state.call)
    if ('status' in selection) {
      this.#reply(state, selection)
      return
    }
    state.selection = selection
    const reserved = state.call?.reserve(state.exchange, selection)
    this.#when(state, reserved, () =>
      this.select(state, selection, permit, (provided) => this.#deliver(state, permit, provided)),
    )
  }

  #deliver(state: RequestState, permit: Permit<'backend'>, first: ForwardPermit): void {
    state.callOut = 'delivery'
    const { route, backend } = state
    const start = (body: KeptBody | undefined) =>
      new Delivery(state, permit, this, body).start(first)
    if (state.policies === undefined && !hasWayBack(route) && !hasWayBack(backend)) {
      start(state.body)
      return
    }
    const parts = [...(route?.requestBodies ?? []), ...(backend?.requestBodies ?? [])]
    const policies = this.#policiesOf(state)
    const read = policies.reframe(state.selection?.attempt) ?? state.body
    policies.transform(parts, read, route?.retry?.maxBody ?? 0, start)
  }

  /** The policies between the request and its client, from now on. */
  #policiesOf(state: RequestState): PolicyDownstream {
    if (state.policies === undefined) {
      const { maxBody, load } = this.port
      const limits = { maxBody: maxBody, room: roomFor(load, maxBody) }
      state.policies = new PolicyDownstream(state, limits, this)
      state.downstream = state.policies
    }
    return state.policies
  }

  select(
    state: RequestState,
    selection: Selection,
    permit: Permit<'backend'>,
    next: (provided: Permit<'provider'>) => void,
  ): void {
    state.callOut = 'provider'
    const before = state.delivery && state.backend
    this.#when(state, Permit.provider(permit, selection), (provided) => {
      const { chosen } = selection
      state.backend = chosen
      const bodies = [state.route, before, chosen]
      const isChanged = bodies.some((one) => one?.requestBodies !== undefined)
      const isOther = before !== undefined && before !== chosen
      const body = isOther && !isChanged ? state.policies?.reframe(selection.attempt) : undefined
      if (body !== undefined) state.delivery?.replaceBody(body)
      // The policies of another provider changed the body.
      if (isOther && isChanged && (before.requestBodies || chosen?.requestBodies || state.call)) {
        state.delivery?.stop()
        this.#reply(state, { ...reply(503, 'no-backend'), detail: 'changed-body' })
      } else next(provided)
    })
  }

  /** Continues if no step replied; at once if there is nothing to wait for. */
  #when<P extends Permit | undefined>(
    state: RequestState,
    outcome: P | Reply | Promise<P | Reply>,
    next: (passed: P) => void,
  ): void {
    if (isPassed(outcome)) {
      next(outcome)
      return
    }
    if (!(outcome instanceof Promise)) {
      this.#reply(state, outcome as Reply)
      return
    }
    outcome.then(
      (response) => {
        if (hasResponded(state)) return
        try {
          if (isPassed(response)) next(response)
          else this.#reply(state, response as Reply)
        } catch (error) {
          this.broken(state, error)
        }
      },
      (error: unknown) => this.broken(state, error),
    )
  }

  #reply(state: RequestState, response: Reply): void {
    if (state.route?.responseParts !== undefined || state.backend?.responseParts !== undefined) {
      state.callOut = 'response'
      this.#policiesOf(state).respondInstead(response)
      return
    }
    const keeps = state.listener.needs?.responseHeaders === true
    state.callOut = 'reply'
    const recorded = this.recorded(state, response, response.status)
    writeReply(state.downstream, state.exchange, recorded, response, keeps)
  }

  reject(state: RequestState, response: Reply): void {
    this.#reply(state, response)
  }

  undelivered(state: RequestState, status: number, reason: string): void {
    this.#reply(state, undeliveredReply(status, reason, state.call && state.retries))
  }

  mirrorBroke(state: RequestState, error: unknown): void {
    this.port.observer.broke?.('mirror', error, { state })
  }

  attempted(backend: string, attempted: Attempted): void {
    this.port.observer.attempted?.(backend, attempted)
  }

  retried(backend: string, reason: RetryReason): void {
    this.port.observer.retried?.(backend, reason)
  }

  unreadable(downstream: Downstream, rejection: Rejection): void {
    const state = downstream.exchange as RequestState | undefined
    if (state === undefined || state.isOver) return
    state.callOut = 'body'
    try {
      this.#unreadable(state, rejection)
    } catch (error) {
      this.broken(state, error)
    }
  }

  #unreadable(state: RequestState, { word, status }: Rejection): void {
    const { downstream } = state
    state.delivery?.stop()
    const reason = status === 413 ? 'too-large' : status === 408 ? 'body-timeout' : 'bad-request'
    if (!downstream.isResponding) {
      downstream.head.keepAlive = false
      this.#reply(state, { ...reply(status, reason), detail: word })
      return
    }
    state.exchange.reason = reason
    state.exchange.detail = word
    downstream.abort()
  }

  drained(downstream: Downstream): void {
    const state = downstream.exchange as RequestState | undefined
    try {
      state?.delivery?.resume()
    } catch (error) {
      this.broken(state as RequestState, error)
    }
  }
}
