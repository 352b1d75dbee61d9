import type { Connection } from '../exchange/connection.ts'
import { NO_EDIT } from '../exchange/header-edit.ts'
import { reply } from '../exchange/reply.ts'
import type { Permit } from '../program/permit.ts'
import type { ClosingWord, Downstream } from '../wire/downstream.ts'
import { NO_LINES } from '../wire/http1/field-lines.ts'
import type { Refusal } from '../wire/http1/refusals.ts'
import type { CallOutName } from './call-outs.ts'
import type { Port } from './port.ts'
import { writeReply } from './replies.ts'
import type { Run } from './run.ts'

const INTERNAL = reply(500, 'internal')

const never = () => false

/** How the requests of a connection end: well, because somebody went away, or because we failed. */
export class RequestEnds {
  protected readonly permit: Permit<'connection'>
  protected readonly port: Port
  protected readonly connection: Connection
  readonly closing: (word: ClosingWord) => void
  readonly #isCut: () => boolean

  /**
   * `closing`: told why, where the connection is closed by this side. `isCut`: whether the gateway
   * itself cut it off, since it waited long enough for what is under way.
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

  refused(_: Downstream, refusal: Refusal): void {
    try {
      this.port.observer.refused(this.connection, refusal)
    } catch (error) {
      this.#report('telemetry', error)
    }
  }

  /** The client went away, or it was cut off. */
  aborted(downstream: Downstream, reason: string): void {
    const run = downstream.exchange as Run | undefined
    if (run === undefined || run.isOver) return
    if (run.exchange.reason === '') {
      run.exchange.reason = this.#isCut() ? 'draining' : 'client-gone'
      run.exchange.detail = reason
    }
    try {
      run.delivery?.stop()
    } catch (error) {
      this.#told(run, 'response', error)
    }
    this.#over(run)
  }

  finished(downstream: Downstream): void {
    const run = downstream.exchange as Run | undefined
    if (run === undefined || run.isOver) return
    if (run.exchange.reason === '') run.exchange.reason = 'upstream'
    try {
      run.delivery?.finish()
    } catch (error) {
      this.#told(run, 'response', error)
    }
    this.#over(run)
  }

  closed(): void {
    try {
      this.port.observer.closed(this.connection)
    } catch (error) {
      this.#report('telemetry', error)
    }
  }

  /** The wire itself failed: whoever calls this closes the connection. */
  broke(downstream: Downstream | undefined, error: unknown): void {
    const run = downstream?.exchange as Run | undefined
    if (run === undefined) this.#report('connection', error)
    else this.#told(run, 'connection', error)
    if (run !== undefined) run.exchange.reason = INTERNAL.reason
  }

  /** Too late to change anything for the client. */
  #told(run: Run, callOut: CallOutName, error: unknown): void {
    if (!run.isBroken) this.#report(callOut, error, run)
    run.isBroken = true
  }

  #over(run: Run): void {
    run.isOver = true
    if (run.isCounted) this.port.load?.end()
    run.body?.release()
    run.policies?.close()
    if (run.route?.timeouts.request) this.port.deadlines.remove(run)
    try {
      // Logs and traces are told the most specific of who asked.
      run.exchange.enter(undefined)
      run.exchange.bytesReceived = run.downstream.bytesReceived
      run.exchange.bytesSent = run.downstream.bytesSent
      this.port.observer.finished(run)
    } catch (error) {
      this.#told(run, 'telemetry', error)
    }
  }

  /** Something threw before there was a run, or within it. */
  protected brokenIn(downstream: Downstream, error: unknown): void {
    const run = downstream.exchange as Run | undefined
    if (run !== undefined) {
      this.broken(run, error)
      return
    }
    this.#report('request', error)
    endBroken(downstream, () => downstream.reply(500, NO_LINES, ''))
  }

  /**
   * Something threw: a fault of ours, which must not let anybody through, and costs this request
   * alone. What else throws while it comes to its end is not told again.
   */
  broken(run: Run, error: unknown): void {
    if (!run.isBroken) this.#report(run.callOut, error, run)
    run.isBroken = true
    if (run.isOver) return
    const { downstream, exchange } = run
    try {
      run.delivery?.stop()
    } catch {
      // It was told why it ends.
    }
    exchange.responseEdit = NO_EDIT
    exchange.reason = INTERNAL.reason
    if (!downstream.isResponding) exchange.status = INTERNAL.status
    endBroken(downstream, () => writeReply(downstream, exchange, INTERNAL))
  }

  #report(callOut: CallOutName, error: unknown, run?: Run): void {
    this.port.observer.broke?.(callOut, error, { run, connection: this.connection })
  }
}

/**
 * Ends an exchange of which nothing is sure any more: with an answer, with one that nothing can be
 * wrong with, or by cutting it off, whichever does not throw.
 */
function endBroken(downstream: Downstream, answer: () => void): void {
  downstream.head.keepAlive = false
  const plain = () => downstream.reply(INTERNAL.status, NO_LINES, '')
  const cut = () => downstream.abort()
  for (const end of downstream.isResponding ? [cut] : [answer, plain, cut]) {
    try {
      end()
      return
    } catch {
      // Why it ends was told.
    }
  }
}
