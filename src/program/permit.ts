// HOT PATH: every request passes here at each stage. Guarded by bench/proxy.ts.

import type { Variables } from '../cel/index.ts'
import type { Connection } from '../exchange/connection.ts'
import type { Decider, Decision } from '../exchange/decision.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { Reply } from '../exchange/reply.ts'
import type { BackendProgram, ListenerProgram, RouteProgram, Selection } from './program.ts'

/** Where it is decided whether something goes on. */
export type PermitStage = 'connection' | 'traffic' | 'backend' | 'provider' | 'mcp'

/** What a stage came to. */
export type Verdict<S extends PermitStage> = Permit<S> | Reply

/** What whoever sends a request to a backend must have. */
export type ForwardPermit = Permit<'backend'> | Permit<'provider'>

/**
 * That a stage has decided, and lets pass. Whoever sends anything on asks for one, and there is no
 * other way to one than to have the stage decide, and the stage before it: sending something on
 * without a decision does not compile. There is one object for each stage, so that none is made for
 * a request.
 */
export class Permit<S extends PermitStage = PermitStage> {
  readonly #stage: S

  private constructor(stage: S) {
    this.#stage = stage
    Object.freeze(this)
  }

  static readonly #connection = new Permit('connection')
  static readonly #traffic = new Permit('traffic')
  static readonly #backend = new Permit('backend')
  static readonly #provider = new Permit('provider')
  static readonly #mcp = new Permit('mcp')
  static readonly #passed: MessageVerdict = { permit: Permit.#mcp, decision: undefined }

  get stage(): S {
    return this.#stage
  }

  /**
   * The rules about connections of all these listeners. `tell` hears of every decision that there
   * is something to say of; undefined: the connection was denied by the last of them.
   */
  static connection(
    listeners: readonly ListenerProgram[],
    connection: Connection,
    report: (listener: ListenerProgram, decision: Decision, isDenied: boolean) => void,
  ): Permit<'connection'> | undefined {
    for (const listener of listeners) {
      const decision = listener.network?.decide(connection)
      if (decision === undefined) continue
      const isDenied = decision.isEnforced && !decision.isAllowed
      report(listener, decision, isDenied)
      if (isDenied) return undefined
    }
    return Permit.#connection
  }

  /** The policies of a route, for a request of a connection that was let in. */
  static traffic(
    _: Permit<'connection'>,
    route: RouteProgram,
    exchange: Exchange,
  ): Verdict<'traffic'> | Promise<Verdict<'traffic'>> {
    const outcome = route.run(exchange)
    if (outcome === undefined) return Permit.#traffic
    if (!(outcome instanceof Promise)) return outcome
    return outcome.then((reply) => reply ?? Permit.#traffic)
  }

  /** The policies of the backend that was chosen for it. */
  static backend(
    _: Permit<'traffic'>,
    backend: BackendProgram,
    exchange: Exchange,
  ): Verdict<'backend'> | Promise<Verdict<'backend'>> {
    const outcome = backend.run(exchange)
    if (outcome === undefined) return Permit.#backend
    if (!(outcome instanceof Promise)) return outcome
    return outcome.then((reply) => reply ?? Permit.#backend)
  }

  /** Those of the next provider of the backend that may be asked. */
  static provider(
    _: Permit<'backend'>,
    selection: Selection,
  ): Verdict<'provider'> | Promise<Verdict<'provider'>> {
    const outcome = selection.next()
    if (outcome === undefined) return Permit.#provider
    if (!(outcome instanceof Promise)) return outcome
    return outcome.then((reply) => reply ?? Permit.#provider)
  }

  /** The rules about a message of MCP; without any, it passes. */
  static message(rules: Decider | undefined, exchange: Exchange): MessageVerdict {
    const decision = rules?.decide(exchange as unknown as Variables)
    if (decision === undefined) return Permit.#passed
    const isDenied = decision.isEnforced && !decision.isAllowed
    return { permit: isDenied ? undefined : Permit.#mcp, decision }
  }

  /**
   * The same for a message that names no tool, prompt or resource: it is denied only if the rules
   * would deny whatever it could be about.
   */
  static general(
    isPossible: ((exchange: Exchange) => boolean) | undefined,
    rules: Decider | undefined,
    exchange: Exchange,
  ): MessageVerdict {
    if (isPossible === undefined || isPossible(exchange)) return Permit.#passed
    return { permit: undefined, decision: rules?.decide(exchange as unknown as Variables) }
  }
}

/** What the rules say of a message; without a permit it goes nowhere. */
export interface MessageVerdict {
  readonly permit: Permit<'mcp'> | undefined
  /** Why, where there is something to tell. */
  readonly decision: Decision | undefined
}

/** Whether there is no reply: what was let pass, or had nothing to say. */
export function isPassed<P extends Permit | undefined>(
  outcome: P | Reply | Promise<P | Reply>,
): outcome is P {
  return outcome === undefined || outcome instanceof Permit
}
