import type { ListenerProgram } from '../program/program.ts'
import type { RequestId } from '../telemetry/request-id.ts'
import type { Deadlines } from '../wire/deadlines.ts'
import type { ListenerLookup } from './http-listeners.ts'
import type { Load } from './load.ts'
import { isAlike, type RequestReading } from './port-plan.ts'
import type { Observer, Port } from './request-loop.ts'

/**
 * A port as a connection sees it that was accepted on the listener of its server name. Requests for
 * another listener are misdirected (421, RFC 9110 §15.5.20): it may require another certificate.
 */
export class SecuredPort implements Port {
  readonly listeners: SecuredListeners
  readonly #port: Port

  constructor(port: Port, listener: ListenerProgram) {
    this.#port = port
    this.listeners = new SecuredListeners(port, listener)
  }

  get observer(): Observer {
    return this.#port.observer
  }

  get deadlines(): Deadlines {
    return this.#port.deadlines
  }

  get maxBody(): number {
    return this.#port.maxBody
  }

  get maxModelBody(): number | undefined {
    return this.#port.maxModelBody
  }

  get maxJson(): number | undefined {
    return this.#port.maxJson
  }

  get maxUpload(): number {
    return this.#port.maxUpload
  }

  get trustedHops(): number {
    return this.#port.trustedHops
  }

  get reading(): RequestReading | undefined {
    return this.#port.reading
  }

  get load(): Load | undefined {
    return this.#port.load
  }

  get gateway(): string {
    return this.#port.gateway ?? ''
  }

  nextId(): RequestId {
    return this.#port.nextId()
  }

  /** Whether another listener on this port would serve it: 421, not 404. */
  isMisdirected(host: string): boolean {
    return (
      this.listeners.forHost(host) === undefined && this.#port.listeners.forHost(host) !== undefined
    )
  }
}

class SecuredListeners implements ListenerLookup {
  readonly #port: Port
  readonly #listener: ListenerProgram
  /** The listener that was last found to be alike: it still is, until the Program changes. */
  #alike: ListenerProgram

  constructor(port: Port, listener: ListenerProgram) {
    this.#port = port
    this.#listener = listener
    this.#alike = listener
  }

  forHost(host: string): ListenerProgram | undefined {
    const found = this.#port.listeners.forHost(host)
    if (found === this.#alike || found === undefined) return found
    if (!isAlike(found, this.#listener)) return undefined
    this.#alike = found
    return found
  }
}
