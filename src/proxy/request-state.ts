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
import { awaitedRequests } from './awaited-requests.ts'
import type { CallOutName } from './call-outs.ts'
import type { KeptBody } from './kept-body.ts'
import type { PolicyDownstream } from './policy-downstream.ts'

/** How an attempt to have a backend response ended, in the words of the metrics. */
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

/** A provider that was not the one to respond, in the words of the metrics. */
export interface Failover {
  readonly provider: string
  readonly reason: 'connect' | 'timeout' | 'reset' | 'rate-limited' | 'status' | 'unhealthy'
}

const NO_FAILOVERS: readonly Failover[] = []

/** The trace that a request is part of. */
export interface ActiveTrace {
  readonly traceId: string
  /** Undefined where it is not sampled: then the gateway has no span of it. */
  readonly spanId: string | undefined
  /** A request goes out: the backend is told of the trace. */
  attempting(state: RequestState): void
  attempted(state: RequestState, outcome: AttemptOutcome): void
  /** The headers of a copy: whoever gets one is another child of this trace, not the same span. */
  mirroring(state: RequestState): HeaderEdit
}

/** A request on its way to whoever responds to it: ./delivery.ts, ./mcp-delivery.ts. */
export interface ActiveDelivery {
  stop(): void
  /** The response is with the client, all of it. */
  finish(): void
  /** The client takes more of the response. */
  resume(): void
  /** The policies on the way back take more of it. */
  proceed(): void
  /** A response came, and another one takes its place. */
  replaced(): void
  /**
   * The response says that it is an error, before any of it was sent on: `head` has the status that
   * it should have had. True: another attempt is made.
   */
  failedLate(head: ResponseHead): boolean
  /** Another provider is sent another body. */
  replaceBody(body: KeptBody): void
}

/** One exchange under way, and how far it has come. */
export class RequestState implements Timed {
  /** With the policies in between that act on responses and bodies, where there are any. */
  downstream: Downstream
  policies: PolicyDownstream | undefined = undefined
  readonly exchange: Exchange
  readonly listener: ListenerProgram
  route: RouteProgram | undefined = undefined
  /** Of an AI backend, the provider that was chosen. */
  backend: BackendProgram | undefined = undefined
  selection: Selection | undefined = undefined
  /** Of an AI backend, if it is a call to a model that is read. */
  call: ModelCall | undefined = undefined
  delivery: ActiveDelivery | undefined = undefined
  /** Read before its time, for an expression. */
  body: KeptBody | undefined = undefined
  /** The address that was asked last. */
  endpoint = ''
  readonly startedAt: number
  /** When the first attempt began, and when the response that the client gets did; 0: never. */
  sentAt = 0
  respondedAt = 0
  retries = 0
  /** Providers that another one was asked instead of. */
  failovers: readonly Failover[] = NO_FAILOVERS
  trace: ActiveTrace | undefined = undefined
  isOver = false
  /** What it calls now, for whoever has to say where something threw. */
  callOut: CallOutName = 'request'
  /** Something threw, and it was told. */
  isBroken = false
  /** It counts among the requests that are under way. */
  isCounted = false
  /** It counts among those of the metrics. */
  isActive = false
  /** Its decisions are on record. */
  isReported = false
  /** Of the route's request timeout. */
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
    awaitedRequests.began()
  }

  /** The response that the client gets begins. */
  responded(at: number): void {
    if (this.respondedAt === 0) awaitedRequests.responded()
    this.respondedAt = at
  }

  end(): void {
    if (this.respondedAt === 0) awaitedRequests.responded()
    this.isOver = true
  }

  expire(): void {
    this.onExpired(this)
  }
}

/**
 * Its time may run out while something is waited for, and what the client still sends is read after
 * that: a request which then went on would get two responses, and the second time in place of the
 * next one.
 */
export function hasResponded(state: RequestState): boolean {
  return state.isOver || state.downstream.isResponding
}
