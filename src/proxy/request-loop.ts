// HOT PATH: what happens to a request, in order. Guarded by bench/proxy.ts.

import type { Source } from '../exchange/connection.ts'
import { Exchange, RequestAttributes } from '../exchange/exchange.ts'
import { forwardedSource } from '../exchange/forwarded-source.ts'
import { HeaderEdit, NO_EDIT } from '../exchange/header-edit.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import { type ForwardPermit, isPassed, Permit } from '../program/permit.ts'
import { isReply, type RouteProgram, type Selection } from '../program/program.ts'
import type { WayBack } from '../program/way-back.ts'
import type { Downstream, DownstreamEvents } from '../wire/downstream.ts'
import { fieldLine, NO_LINES } from '../wire/http1/field-lines.ts'
import { type Fields, joinedValue } from '../wire/http1/fields.ts'
import { Http1Headers } from '../wire/http1/header-view.ts'
import { normalisePath } from '../wire/http1/path.ts'
import { type Refusal, refusalOf, refuse } from '../wire/http1/refusals.ts'
import { RequestNames } from '../wire/http1/request-names.ts'
import { roomFor } from './body-room.ts'
import { decodeBody, isCoded } from './content-coding.ts'
import { type Attempted, Delivery, type DeliveryEvents, type RetryReason } from './delivery.ts'
import { KeptBody } from './kept-body.ts'
import { PolicyDownstream } from './policy-downstream.ts'
import type { RequestReading } from './port-plan.ts'
import { writeRejection, writeReply } from './replies.ts'
import { RequestEnds } from './request-ends.ts'
import { idOf } from './request-id.ts'
import { Run } from './run.ts'
import { undeliveredReason } from './undelivered-reason.ts'

export type { Observer, Port } from './port.ts'

const DEFAULT_READING: RequestReading = {
  keepsSlashes: false,
  names: new RequestNames({ underscores: 'Auto', forwardsTrailers: false }),
}

/** RFC 9110 §15.5.6: with 405 comes what would be. */
const ALLOW = fieldLine('allow', 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE') ?? NO_LINES

const RETRY_AFTER = new HeaderEdit([], [['retry-after', '1']])
const OVERLOADED = reply(503, 'overload', '', RETRY_AFTER)

export class RequestLoop extends RequestEnds implements DownstreamEvents, DeliveryEvents {
  // Whatever throws below one of these events is the affair of one request: nothing of it gets to
  // whoever read the socket, where it would end the process.

  request(downstream: Downstream): void {
    try {
      this.#request(downstream)
    } catch (error) {
      this.brokenIn(downstream, error)
    }
  }

  #request(downstream: Downstream): void {
    const { head } = downstream
    const { keepsSlashes, names } = this.port.reading ?? DEFAULT_READING
    const path = head.form === 'authority' ? '' : normalisePath(head.path, keepsSlashes)
    const listener = this.port.listeners.forHost(head.host)
    if (typeof path === 'number' || path === '' || listener === undefined) {
      this.#refuse(downstream, this.#refusalOf(path, head.host))
      return
    }
    const source = this.#sourceOf(head.fields)
    if (source === undefined) {
      this.#refuse(downstream, refusalOf(refuse('bad-forwarded-for')))
      return
    }
    const verdict = names.checkHeaders(head.fields)
    if (verdict < 0) {
      this.#refuse(downstream, refusalOf(verdict))
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
      Date.now(),
    )
    request.id = idOf(head.fields, this.port)
    const exchange = new Exchange(this.connection, request, source)
    const run = new Run(downstream, exchange, listener, performance.now())
    downstream.exchange = run
    run.callOut = 'telemetry'
    this.port.observer.began(run)
    run.callOut = 'request'
    run.route = listener.match(exchange)
    const { load } = this.port
    run.isCounted = load !== undefined
    const shedding = load?.begin()
    if (shedding !== undefined) {
      this.#reply(run, { ...OVERLOADED, detail: shedding })
      return
    }
    this.#limit(run, run.route)
    if (head.framing === 'length' && head.length > this.port.mostUpload) {
      this.#tooLarge(run, 'body-too-large')
      return
    }
    const { route } = run
    const readsBody =
      route.readsBody || route.readsBeginning === true || listener.needs?.requestBody === true
    if (readsBody && head.framing !== 'none') this.#readFirst(run, () => this.#policies(run))
    else this.#policies(run)
  }

  /** Who asks; undefined where those in front, who should know, do not say it. */
  #sourceOf(fields: Fields): Source | undefined {
    const { source } = this.connection
    const { trustedHops } = this.port
    if (trustedHops === 0) return source
    return forwardedSource(source, joinedValue(fields, 'x-forwarded-for'), trustedHops)
  }

  #refuse(downstream: Downstream, refusal: Refusal): void {
    // What follows may not be meant as a request: octets of a tunnel that was refused, for one.
    const { head } = downstream
    head.keepAlive = false
    const id = idOf(head.fields, this.port)
    const more = refusal.status === 405 ? ALLOW : NO_LINES
    writeRejection(downstream, refusal.status, id, joinedValue(head.fields, 'accept'), more)
    const { method, host, path } = head
    this.port.observer.refused(this.connection, refusal, { id, method, host, path })
  }

  #refusalOf(path: string | number, host: string): Refusal {
    if (typeof path === 'number') return refusalOf(path)
    if (path === '') return { word: 'bad-target', status: 405 }
    return { word: 'bad-host', status: this.port.isMisdirected?.(host) ? 421 : 404 }
  }

  /** The route's time for the whole exchange begins. */
  #limit(run: Run, route: RouteProgram): void {
    if (route.timeouts.request === 0) return
    run.deadline = run.startedAt + route.timeouts.request
    run.whenExpired = (own) => this.#expired(own)
    this.port.deadlines.add(run)
  }

  #expired(run: Run): void {
    run.deadline = Number.POSITIVE_INFINITY
    if (run.isOver) return
    run.callOut = 'timer'
    try {
      run.delivery?.stop()
      if (!run.downstream.isResponding) this.#reply(run, reply(504, 'request-timeout'))
      else {
        run.exchange.reason = 'request-timeout'
        run.downstream.abort()
      }
    } catch (error) {
      this.broken(run, error)
    }
  }

  /** Closes behind it: nobody wants what is still to come. */
  #tooLarge(run: Run, detail: string): void {
    run.downstream.head.keepAlive = false
    this.#reply(run, { ...reply(413, 'too-large'), detail })
  }

  /**
   * Has the body read before any rule asks for it. One that does not fit is refused: a rule that
   * cannot read what it guards against would not guard against it.
   */
  #readFirst(run: Run, next: () => void): void {
    const { mostBody } = this.port
    const isLogged = run.listener.needs?.requestBody === true
    const whenReady = () => {
      if (isAnswered(run)) return
      run.callOut = 'body'
      try {
        ready()
      } catch (error) {
        this.broken(run, error)
      }
    }
    const ready = () => {
      if (body.isCrowdedOut) {
        run.downstream.head.keepAlive = false
        this.#reply(run, { ...OVERLOADED, detail: 'buffers' })
        return
      }
      const { bytes } = body
      if (bytes === undefined && run.route?.readsBody) {
        this.#tooLarge(run, 'buffer')
        return
      }
      const coding = joinedValue(run.downstream.head.fields, 'content-encoding')
      const decodes = run.route?.decodesBody === true
      if (bytes !== undefined && isCoded(coding) && (decodes || isLogged)) {
        this.#when(run, decodeBody(run.exchange, bytes, coding, mostBody, decodes), next)
        return
      }
      run.exchange.request.body = bytes
      run.exchange.bodyBeginning = body.beginning
      next()
    }
    run.exchange.readingLimits = { body: mostBody, json: this.port.mostJson ?? mostBody }
    const body = new KeptBody(mostBody, whenReady, roomFor(this.port.load, mostBody))
    run.body = body
    run.downstream.readBody(body, false)
  }

  #policies(run: Run): void {
    run.callOut = 'policy'
    const verdict = Permit.traffic(this.permit, run.route as RouteProgram, run.exchange)
    this.#when(run, verdict, (permit) => this.#choose(run, permit))
  }

  #choose(run: Run, permit: Permit<'traffic'>): void {
    run.callOut = 'backend'
    const backend = (run.route as RouteProgram).choose(run.exchange)
    if (isReply(backend)) {
      this.#reply(run, backend)
      return
    }
    run.backend = backend
    this.#when(run, Permit.backend(permit, backend, run.exchange), (own) => {
      if (backend.select === undefined) this.#deliver(run, own, own)
      else {
        run.callOut = 'provider'
        // Any of them may be the one that responds.
        if (backend.providers?.some(hasWayBack)) this.#policiesOf(run)
        run.selection = backend.select(run.exchange)
        this.select(run, run.selection, own, (provided) => this.#deliver(run, own, provided))
      }
    })
  }

  #deliver(run: Run, permit: Permit<'backend'>, first: ForwardPermit): void {
    run.callOut = 'delivery'
    const { route, backend } = run
    if (run.policies === undefined && !hasWayBack(route) && !hasWayBack(backend)) {
      run.delivery = new Delivery(run, permit, this, run.body)
      run.delivery.start(first)
      return
    }
    const parts = [...(route?.requestBodies ?? []), ...(backend?.requestBodies ?? [])]
    this.#policiesOf(run).transform(parts, run.body, route?.retry?.mostBody ?? 0, (body) => {
      run.delivery = new Delivery(run, permit, this, body)
      run.delivery.start(first)
    })
  }

  /** What stands between the request and its client, from now on. */
  #policiesOf(run: Run): PolicyDownstream {
    if (run.policies === undefined) {
      const { mostBody, load } = this.port
      const limits = { maxBody: mostBody, room: roomFor(load, mostBody) }
      run.policies = new PolicyDownstream(run, limits, this)
      run.downstream = run.policies
    }
    return run.policies
  }

  select(
    run: Run,
    selection: Selection,
    permit: Permit<'backend'>,
    next: (provided: Permit<'provider'>) => void,
  ): void {
    run.callOut = 'provider'
    const before = run.delivery && run.backend
    this.#when(run, Permit.provider(permit, selection), (provided) => {
      const { chosen } = selection
      run.backend = chosen
      const isChanged = before?.requestBodies !== undefined || chosen?.requestBodies !== undefined
      // The body is what the policies of another provider made of it.
      if (before !== undefined && before !== chosen && isChanged) {
        run.delivery?.stop()
        this.#reply(run, { ...reply(503, 'no-backend'), detail: 'changed-body' })
      } else next(provided)
    })
  }

  /** Goes on where no step answered; at once where none has to be waited for. */
  #when<P extends Permit | undefined>(
    run: Run,
    outcome: P | Reply | Promise<P | Reply>,
    next: (passed: P) => void,
  ): void {
    if (isPassed(outcome)) {
      next(outcome)
      return
    }
    if (!(outcome instanceof Promise)) {
      this.#reply(run, outcome as Reply)
      return
    }
    outcome.then(
      (answer) => {
        if (isAnswered(run)) return
        try {
          if (isPassed(answer)) next(answer)
          else this.#reply(run, answer as Reply)
        } catch (error) {
          this.broken(run, error)
        }
      },
      (error: unknown) => this.broken(run, error),
    )
  }

  #reply(run: Run, answer: Reply): void {
    run.callOut = 'decision-record'
    this.port.observer.answering?.(run, answer)
    if (run.route?.responseParts !== undefined || run.backend?.responseParts !== undefined) {
      run.callOut = 'response'
      this.#policiesOf(run).answer(answer)
      return
    }
    const keeps = run.listener.needs?.responseHeaders === true
    run.callOut = 'reply'
    writeReply(run.downstream, run.exchange, answer, keeps)
  }

  reject(run: Run, answer: Reply): void {
    this.#reply(run, answer)
  }

  undelivered(run: Run, status: number, reason: string): void {
    const isBusy = reason === 'overloaded' || reason === 'pending-timeout'
    const headers = isBusy ? RETRY_AFTER : NO_EDIT
    this.#reply(run, {
      ...reply(status, undeliveredReason(status, reason), '', headers),
      detail: reason,
    })
  }

  mirrorBroke(run: Run, error: unknown): void {
    this.port.observer.broke?.('mirror', error, { run })
  }

  attempted(backend: string, attempted: Attempted): void {
    this.port.observer.attempted?.(backend, attempted)
  }

  retried(backend: string, reason: RetryReason): void {
    this.port.observer.retried?.(backend, reason)
  }

  unreadable(downstream: Downstream, refusal: Refusal): void {
    const run = downstream.exchange as Run | undefined
    if (run === undefined || run.isOver) return
    run.callOut = 'body'
    try {
      this.#unreadable(run, refusal)
    } catch (error) {
      this.broken(run, error)
    }
  }

  #unreadable(run: Run, { word, status }: Refusal): void {
    const { downstream } = run
    run.delivery?.stop()
    const reason = status === 413 ? 'too-large' : status === 408 ? 'body-timeout' : 'bad-request'
    if (!downstream.isResponding) {
      downstream.head.keepAlive = false
      this.#reply(run, { ...reply(status, reason), detail: word })
      return
    }
    run.exchange.reason = reason
    run.exchange.detail = word
    downstream.abort()
  }

  drained(downstream: Downstream): void {
    const run = downstream.exchange as Run | undefined
    try {
      run?.delivery?.resume()
    } catch (error) {
      this.broken(run as Run, error)
    }
  }
}

function hasWayBack(program: WayBack | undefined): boolean {
  return program?.responseParts !== undefined || program?.requestBodies !== undefined
}

/**
 * Its time may run out while something is waited for, and what the client still sends is read after
 * that: a request which then went on would be answered twice, and the second time in place of the
 * next one.
 */
function isAnswered(run: Run): boolean {
  return run.isOver || run.downstream.isResponding
}
