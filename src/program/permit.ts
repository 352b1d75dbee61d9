// HOT PATH: every request passes here at each stage. Guarded by bench/proxy.ts.

import type { Variables } from '../cel/index.ts'
import type { Connection } from '../exchange/connection.ts'
import type { Decider, Decision } from '../exchange/decision.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { Reply } from '../exchange/reply.ts'
import type { BackendProgram, ListenerProgram, RouteProgram, Selection } from './program.ts'

/** The stages at which requests are allowed or denied. */
export type PermitStage = 'connection' | 'traffic' | 'backend' | 'provider' | 'mcp'

/** The outcome of a stage. */
export type Verdict<S extends PermitStage> = Permit<S> | Reply

/** The permit required to send a request to a backend. */
export type ForwardPermit = Permit<'backend'> | Permit<'provider'>

/**
 * Proof that a stage has allowed something. Every function that forwards something requires a
 * permit, and the only way to get one is the decision of the stage and of the stage before it: code
 * that forwards something without a decision does not compile. There is one object for each stage,
 * so that none is allocated for a request.
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
   * Evaluates the connection rules of all these listeners. `report` is called for every decision to
   * report; undefined if the last listener evaluated denied the connection.
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

  /** Runs the policies of a route, for a request of an allowed connection. */
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

  /** Runs the policies of the backend that was chosen for the request. */
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

  /** Runs the policies of the next provider that may be called. */
  static provider(
    _: Permit<'backend'>,
    selection: Selection,
  ): Verdict<'provider'> | Promise<Verdict<'provider'>> {
    const outcome = selection.next()
    if (outcome === undefined) return Permit.#provider
    if (!(outcome instanceof Promise)) return outcome
    return outcome.then((reply) => reply ?? Permit.#provider)
  }

  /** Evaluates the rules about an MCP message; without rules, it is allowed. */
  static message(rules: Decider | undefined, exchange: Exchange): MessageVerdict {
    const decision = rules?.decide(exchange as unknown as Variables)
    if (decision === undefined) return Permit.#passed
    const isDenied = decision.isEnforced && !decision.isAllowed
    return { permit: isDenied ? undefined : Permit.#mcp, decision }
  }

  /**
   * The same for a message that names no tool, prompt or resource: it is denied only if the rules
   * would deny everything it could refer to.
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

/** The verdict of the rules on a message; without a permit, the message is not forwarded. */
export interface MessageVerdict {
  readonly permit: Permit<'mcp'> | undefined
  /** The reason, if there is something to report. */
  readonly decision: Decision | undefined
}

/** Whether there is no reply: the request was allowed, or there was nothing to decide. */
export function isPassed<P extends Permit | undefined>(
  outcome: P | Reply | Promise<P | Reply>,
): outcome is P {
  return outcome === undefined || outcome instanceof Permit
}
