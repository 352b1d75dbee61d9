import type { Connection } from '../exchange/connection.ts'
import { NO_EDIT } from '../exchange/header-edit.ts'
import { Recorded } from '../exchange/recorded.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import type { Permit } from '../program/permit.ts'
import type { ClosingWord, Downstream } from '../wire/downstream.ts'
import { NO_LINES } from '../wire/http1/field-lines.ts'
import type { Rejection } from '../wire/http1/rejections.ts'
import type { CallOutName } from './call-outs.ts'
import type { Port } from './port.ts'
import type { UnroutedRequest, Unserved } from './rejection.ts'
import { writeRejection, writeReply } from './replies.ts'
import type { RequestState } from './request-state.ts'

const INTERNAL = { ...reply(500, 'internal'), reason: 'internal' } as const

const never = () => false

/** Ends the requests of a connection: properly, on a disconnect, or after an internal error. */
export class RequestEnds {
  protected readonly permit: Permit<'connection'>
  protected readonly port: Port
  protected readonly connection: Connection
  readonly closing: (word: ClosingWord) => void
  readonly #isCut: () => boolean

  /**
   * `closing` receives the reason if this side closes the connection. `isCut` returns whether the
   * gateway itself cut it off, after waiting long enough for requests in progress.
   */
  constructor(
    permit: Permit<'connection'>,
    port: Port,
    connection: Connection,
    closing: (word: ClosingWord) => void = () => {},
    isCut: () => boolean = never,
  ) {
    this.permit = permit
    this.port = port
    this.closing = closing
    this.connection = connection
    this.#isCut = isCut
    port.observer.opened(connection)
  }

  /** Nothing of the request is known: its head was not read, or was not a head. */
  rejected(downstream: Downstream, rejection: Rejection, isReadable: boolean): void {
    const id = this.port.nextId()
    const { gateway } = this.port
    const recorded = this.recordedRejection(rejection, { id, gateway })
    if (isReadable) {
      writeRejection(downstream, recorded, rejection.status, id, undefined, NO_LINES)
    }
  }

  /** Makes the record of a response of the gateway, which can only be sent with it. */
  recorded(state: RequestState, response: Reply, status: number): Recorded {
    const { callOut } = state
    state.callOut = 'decision-record'
    const recorded = Recorded.reply(this.port.observer, state, response, status)
    state.callOut = callOut
    return recorded
  }

  protected recordedRejection(rejection: Unserved, request: UnroutedRequest): Recorded {
    try {
      return Recorded.rejection(this.port.observer, this.connection, rejection, request)
    } catch (error) {
      this.#report('telemetry', error)
      return Recorded.broken(error)
    }
  }

  /** The client disconnected, or was cut off. */
  aborted(downstream: Downstream, reason: string): void {
    const state = downstream.exchange as RequestState | undefined
    if (state === undefined || state.isOver) return
    if (state.exchange.reason === '') {
      state.exchange.reason = this.#isCut() ? 'draining' : 'client-gone'
      state.exchange.detail = reason
    }
    try {
      state.delivery?.stop()
    } catch (error) {
      this.#reported(state, 'response', error)
    }
    this.#over(state)
  }

  finished(downstream: Downstream): void {
    const state = downstream.exchange as RequestState | undefined
    if (state === undefined || state.isOver) return
    if (state.exchange.reason === '') state.exchange.reason = 'upstream'
    try {
      state.delivery?.finish()
    } catch (error) {
      this.#reported(state, 'response', error)
    }
    this.#over(state)
  }

  closed(): void {
    try {
      this.port.observer.closed(this.connection)
    } catch (error) {
      this.#report('telemetry', error)
    }
  }

  /** The wire itself failed: the caller closes the connection. */
  broke(downstream: Downstream | undefined, error: unknown): void {
    const state = downstream?.exchange as RequestState | undefined
    if (state === undefined) this.#report('connection', error)
    else this.#reported(state, 'connection', error)
    if (state !== undefined) state.exchange.reason = INTERNAL.reason
  }

  /** Reports an error that is too late to change anything for the client. */
  #reported(state: RequestState, callOut: CallOutName, error: unknown): void {
    if (!state.isBroken) this.#report(callOut, error, state)
    state.isBroken = true
  }

  #over(state: RequestState): void {
    state.end()
    if (state.isCounted) this.port.load?.end()
    state.body?.release()
    state.policies?.close()
    if (state.route?.timeouts.request) this.port.deadlines.remove(state)
    try {
      state.exchange.onOver?.()
      state.call?.finish(state.exchange)
      // Logs and traces use the most specific identity.
      state.exchange.enter(undefined)
      state.exchange.bytesReceived = state.downstream.bytesReceived
      state.exchange.bytesSent = state.downstream.bytesSent
      this.port.observer.finished(state)
    } catch (error) {
      this.#reported(state, 'telemetry', error)
    }
  }

  /** Something threw, before there was a RequestState or after. */
  protected brokenIn(downstream: Downstream, error: unknown): void {
    const state = downstream.exchange as RequestState | undefined
    if (state !== undefined) {
      this.broken(state, error)
      return
    }
    this.#report('request', error)
    const id = this.port.nextId()
    const rejection = { word: INTERNAL.reason, status: INTERNAL.status } as const
    const { gateway } = this.port
    const recorded = this.recordedRejection(rejection, { id, gateway })
    const { status } = rejection
    const write = () => writeRejection(downstream, recorded, status, id, undefined, NO_LINES)
    endBroken(downstream, recorded, write)
  }

  /**
   * Something threw, which is a bug: it must not allow the request, and affects only this one.
   * Later exceptions, until its end, are not reported.
   */
  broken(state: RequestState, error: unknown): void {
    if (!state.isBroken) this.#report(state.callOut, error, state)
    state.isBroken = true
    if (state.isOver) return
    const { downstream, exchange } = state
    try {
      state.delivery?.stop()
    } catch {
      // The reason for its end is already reported.
    }
    exchange.responseEdit = NO_EDIT
    exchange.reason = INTERNAL.reason
    if (!downstream.isResponding) exchange.status = INTERNAL.status
    const recorded = this.#recordedError(state)
    endBroken(downstream, recorded, () => writeReply(downstream, exchange, recorded, INTERNAL))
  }

  #recordedError(state: RequestState): Recorded {
    try {
      return Recorded.reply(this.port.observer, state, INTERNAL, INTERNAL.status)
    } catch (error) {
      return Recorded.broken(error)
    }
  }

  #report(callOut: CallOutName, error: unknown, state?: RequestState): void {
    this.port.observer.broke?.(callOut, error, { state, connection: this.connection })
  }
}

/**
 * Ends an exchange in an unknown state: with the response, with a minimal one that cannot be wrong,
 * or by cutting it off, whichever does not throw.
 */
function endBroken(downstream: Downstream, recorded: Recorded, response: () => void): void {
  downstream.head.keepAlive = false
  const plain = () => downstream.reply(recorded, INTERNAL.status, NO_LINES, '')
  const cut = () => downstream.abort()
  for (const end of downstream.isResponding ? [cut] : [response, plain, cut]) {
    try {
      end()
      return
    } catch {
      // The reason for its end is already reported.
    }
  }
}
