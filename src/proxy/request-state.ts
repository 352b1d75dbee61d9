import type { Exchange } from '../exchange/exchange.ts'
import type { HeaderEdit } from '../exchange/header-edit.ts'
import type { ModelCall } from '../program/model-call.ts'
import type {
  BackendProgram,
  ListenerProgram,
  RouteProgram,
  Selection,
} from '../program/program.ts'
import type { Timed } from '../wire/deadlines.ts'
import type { Downstream } from '../wire/downstream.ts'
import type { ResponseHead } from '../wire/http1/response-head.ts'
import type { CallOutName } from './call-outs.ts'
import type { KeptBody } from './kept-body.ts'
import type { PolicyDownstream } from './policy-downstream.ts'

/** How an attempt to get a response from a backend ended, as labeled in metrics. */
export type AttemptOutcome =
  | '1xx'
  | '2xx'
  | '3xx'
  | '4xx'
  | '5xx'
  | 'connect'
  | 'reset'
  | 'invalid'
  | 'timeout'
  | 'cancelled'
  | 'shed'

/** A provider that another one replaced, and why, as labeled in metrics. */
export interface Failover {
  readonly provider: string
  readonly reason: 'connect' | 'timeout' | 'reset' | 'rate-limited' | 'status' | 'unhealthy'
}

const NO_FAILOVERS: readonly Failover[] = []

/** The trace that a request is part of. */
export interface ActiveTrace {
  readonly traceId: string
  /** Undefined if it is not sampled: then the gateway has no span for it. */
  readonly spanId: string | undefined
  /** A request is about to be sent: the trace is added to its headers. */
  attempting(state: RequestState): void
  attempted(state: RequestState, outcome: AttemptOutcome): void
  /** The headers of a copy: its recipient is another child of this trace, not the same span. */
  mirroring(state: RequestState): HeaderEdit
}

/** A request on its way to a backend: ./delivery.ts, ./mcp-delivery.ts. */
export interface ActiveDelivery {
  stop(): void
  /** The client has received all of the response. */
  finish(): void
  /** The client accepts more of the response. */
  resume(): void
  /** The response policies accept more of the response. */
  proceed(): void
  /** A response arrived, and is replaced with another one. */
  replaced(): void
  /**
   * The response turns out to be an error, before any of it was forwarded: `head` has the status
   * that it should have had. Returns true if another attempt is made.
   */
  failedLate(head: ResponseHead): boolean
  /** Another provider receives another body. */
  replaceBody(body: KeptBody): void
}

/** One exchange in progress, and its current state. */
export class RequestState implements Timed {
  /** With the policies in between that act on responses and bodies, if there are any. */
  downstream: Downstream
  policies: PolicyDownstream | undefined = undefined
  readonly exchange: Exchange
  readonly listener: ListenerProgram
  route: RouteProgram | undefined = undefined
  /** For an AI backend, the selected provider. */
  backend: BackendProgram | undefined = undefined
  selection: Selection | undefined = undefined
  /** For an AI backend, if it is a call to a model that is read. */
  call: ModelCall | undefined = undefined
  delivery: ActiveDelivery | undefined = undefined
  /** The body, if an expression required it early. */
  body: KeptBody | undefined = undefined
  /** The address that was tried last. */
  endpoint = ''
  readonly startedAt: number
  /** When the first attempt began, and when the response to the client did; 0: never. */
  sentAt = 0
  respondedAt = 0
  retries = 0
  /** Providers that another one replaced. */
  failovers: readonly Failover[] = NO_FAILOVERS
  trace: ActiveTrace | undefined = undefined
  isOver = false
  /** The current call-out, to report where something threw. */
  callOut: CallOutName = 'request'
  /** Something threw, and was reported. */
  isBroken = false
  /** It counts as a request in progress. */
  isCounted = false
  /** It counts as an active request in metrics. */
  isActive = false
  /** Its decisions are recorded. */
  isReported = false
  /** The deadline of the route's request timeout. */
  deadline = Number.POSITIVE_INFINITY
  slot = -1
  onExpired: (state: RequestState) => void = () => {}

  constructor(
    downstream: Downstream,
    exchange: Exchange,
    listener: ListenerProgram,
    startedAt: number,
  ) {
    this.downstream = downstream
    this.exchange = exchange
    this.listener = listener
    this.startedAt = startedAt
  }

  /** The response to the client begins. */
  responded(at: number): void {
    this.respondedAt = at
  }

  end(): void {
    this.isOver = true
  }

  expire(): void {
    this.onExpired(this)
  }
}

/**
 * The timeout may expire while something is awaited, and later input of the client is still read: a
 * request that continued then would get two responses, the second one in place of that of the next
 * request.
 */
export function hasResponded(state: RequestState): boolean {
  return state.isOver || state.downstream.isResponding
}
