import type { Socket } from 'node:net'
import { Recorded } from '../exchange/recorded.ts'
import type { RequestId } from '../telemetry/request-id.ts'
import type { Deadlines } from '../wire/deadlines.ts'
import { SlotSet } from '../wire/slot-set.ts'
import { DownstreamSocket } from './accept.ts'
import type { AcceptDeps, AcceptObserver } from './accept-deps.ts'
import { closeIdle, reauthorize } from './admission.ts'
import type { HttpListeners } from './http-listeners.ts'
import type { Load } from './load.ts'
import type { PortPlan, RequestReading } from './port-plan.ts'
import { RejectedSockets } from './rejected-sockets.ts'
import { rejectedConnection } from './rejection.ts'
import type { Port } from './request-loop.ts'

/** One port and the connections that it accepted. */
export class BoundPort implements Port {
  readonly acceptDeps: AcceptDeps
  /** Replaced as a whole with the Program. */
  plan: PortPlan
  readonly open = new SlotSet<DownstreamSocket>()
  readonly #rejectedSockets = new RejectedSockets()
  #empty: PromiseWithResolvers<void> | undefined = undefined

  constructor(plan: PortPlan, acceptDeps: AcceptDeps) {
    this.plan = plan
    this.acceptDeps = acceptDeps
  }

  get listeners(): HttpListeners {
    return this.plan.names
  }

  get observer(): AcceptObserver {
    return this.acceptDeps.observer
  }

  get deadlines(): Deadlines {
    return this.acceptDeps.deadlines
  }

  get maxBody(): number {
    return this.plan.maxBody
  }

  get maxModelBody(): number {
    return this.plan.maxModelBody
  }

  get maxJson(): number {
    return this.plan.maxJson
  }

  get maxUpload(): number {
    return this.plan.http.body
  }

  get trustedHops(): number {
    return this.plan.trustedHops
  }

  get gateway(): string {
    return this.plan.listeners[0]?.gateway ?? ''
  }

  get reading(): RequestReading {
    return this.plan.reading
  }

  get load(): Load | undefined {
    return this.acceptDeps.load
  }

  nextId(): RequestId {
    return this.acceptDeps.nextId()
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
    // An error without a listener would end the process.
    socket.on('error', ignore)
    const entered = !this.isDraining && this.acceptDeps.counts.enter()
    if (entered instanceof Promise) {
      const enter = (isIn: boolean) => this.#guard(socket, () => this.#entered(socket, isIn))
      void entered.then(enter)
    } else this.#entered(socket, entered)
  }

  #entered(socket: Socket, isIn: boolean): void {
    const { counts, observer } = this.acceptDeps
    if (isIn && (this.isDraining || socket.destroyed)) counts.leave()
    if (this.isDraining || !isIn) {
      const word = this.isDraining ? 'draining' : 'connections'
      const responds = word === 'connections' && this.plan.kind === 'http'
      const id = responds ? this.acceptDeps.nextId() : undefined
      const rejection = rejectedConnection(word, word, this.plan, undefined, undefined, id)
      const recorded = Recorded.connection(observer, rejection)
      if (id === undefined) socket.destroy()
      else this.#rejectedSockets.report(socket, recorded, id)
      return
    }
    if (socket.destroyed) return
    const accepted = new DownstreamSocket(socket, this)
    this.open.add(accepted)
    try {
      accepted.start()
    } catch (error) {
      accepted.broke('accept', error)
    }
  }

  left(accepted: DownstreamSocket): void {
    this.open.delete(accepted)
    this.acceptDeps.counts.leave()
    if (this.open.size === 0) this.#empty?.resolve()
  }

  /** Ends connections, within `grace`, whose listener is gone or that the new rules deny. */
  update(plan: PortPlan, grace: number): void {
    this.plan = plan
    for (const accepted of this.open.members())
      accepted.guard('accept', () => reauthorize(accepted, plan, grace))
  }

  /**
   * Closes idle connections and drains the others; resolves when none is left. `isAtOnce` also
   * closes those to which a request may be in transit.
   */
  drain(isAtOnce = false): Promise<void> {
    if (this.#empty === undefined) {
      this.#empty = Promise.withResolvers<void>()
      for (const accepted of this.open.members()) {
        accepted.guard('connection', () => {
          accepted.drain()
          if (isAtOnce) closeIdle(accepted)
        })
      }
      if (this.open.size === 0) this.#empty.resolve()
    }
    return this.#empty.promise
  }

  destroy(): void {
    for (const accepted of this.open.members()) accepted.cut()
  }
}

function ignore(): void {}
