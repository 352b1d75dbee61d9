import type { Socket } from 'node:net'
import type { Deadlines } from '../wire/deadlines.ts'
import { Accepted } from './accept.ts'
import type { Acceptance, AcceptObserver } from './acceptance.ts'
import { readmit } from './admission.ts'
import type { HttpListeners } from './http-listeners.ts'
import type { Load } from './load.ts'
import type { PortPlan, RequestReading } from './port-plan.ts'
import { rejectionOf } from './rejection.ts'
import type { Port } from './request-loop.ts'
import { TurnedAway } from './turned-away.ts'

/** One port and the connections that came by it. */
export class Doorway implements Port {
  readonly acceptance: Acceptance
  /** Replaced whole when the Program is. */
  plan: PortPlan
  readonly open = new Set<Accepted>()
  readonly #turnedAway = new TurnedAway()
  #empty: PromiseWithResolvers<void> | undefined = undefined

  constructor(plan: PortPlan, acceptance: Acceptance) {
    this.plan = plan
    this.acceptance = acceptance
  }

  get listeners(): HttpListeners {
    return this.plan.names
  }

  get observer(): AcceptObserver {
    return this.acceptance.observer
  }

  get deadlines(): Deadlines {
    return this.acceptance.deadlines
  }

  get mostBody(): number {
    return this.plan.mostBody
  }

  get mostJson(): number {
    return this.plan.mostJson
  }

  get mostUpload(): number {
    return this.plan.http.body
  }

  get trustedHops(): number {
    return this.plan.trustedHops
  }

  get reading(): RequestReading {
    return this.plan.reading
  }

  get load(): Load | undefined {
    return this.acceptance.load
  }

  nextId(): string {
    return this.acceptance.nextId()
  }

  get isDraining(): boolean {
    return this.#empty !== undefined
  }

  accept(socket: Socket): void {
    this.#guard(socket, () => this.#accept(socket))
  }

  #guard(socket: Socket, work: () => void): void {
    try {
      work()
    } catch (error) {
      socket.destroy()
      this.observer.broke?.('accept', error, { gateway: this.plan.listeners[0]?.gateway })
    }
  }

  #accept(socket: Socket): void {
    // Without anybody to hear it an error would end the process.
    socket.on('error', ignore)
    const entered = !this.isDraining && this.acceptance.counts.enter()
    if (entered instanceof Promise) {
      const enter = (isIn: boolean) => this.#guard(socket, () => this.#entered(socket, isIn))
      void entered.then(enter)
    } else this.#entered(socket, entered)
  }

  #entered(socket: Socket, isIn: boolean): void {
    const { counts, observer } = this.acceptance
    if (isIn && (this.isDraining || socket.destroyed)) counts.leave()
    if (this.isDraining || !isIn) {
      const word = this.isDraining ? 'draining' : 'connections'
      if (word === 'connections' && this.plan.kind === 'http') this.#turnedAway.tell(socket)
      else socket.destroy()
      observer.rejected(rejectionOf(word, word, this.plan, undefined, undefined))
      return
    }
    if (socket.destroyed) return
    const accepted = new Accepted(socket, this)
    this.open.add(accepted)
    try {
      accepted.start()
    } catch (error) {
      accepted.broke('accept', error)
    }
  }

  left(accepted: Accepted): void {
    this.open.delete(accepted)
    this.acceptance.counts.leave()
    if (this.open.size === 0) this.#empty?.resolve()
  }

  /** What came by a listener that is no longer there, or may not come now, ends within `grace`. */
  replan(plan: PortPlan, grace: number): void {
    this.plan = plan
    for (const accepted of [...this.open])
      accepted.guard('accept', () => readmit(accepted, plan, grace))
  }

  /** Idle connections close, the others are told to; resolves when none is left. */
  drain(): Promise<void> {
    if (this.#empty === undefined) {
      this.#empty = Promise.withResolvers<void>()
      for (const accepted of [...this.open]) accepted.guard('connection', () => accepted.drain())
      if (this.open.size === 0) this.#empty.resolve()
    }
    return this.#empty.promise
  }

  destroy(): void {
    for (const accepted of [...this.open]) accepted.cut()
  }
}

function ignore(): void {}
