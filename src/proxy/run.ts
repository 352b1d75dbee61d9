import type { Exchange } from '../exchange/exchange.ts'
import type { BackendProgram, ListenerProgram, RouteProgram } from '../program/program.ts'
import type { Timed } from '../wire/deadlines.ts'
import type { Downstream } from '../wire/downstream.ts'
import type { Delivery } from './delivery.ts'
import type { KeptBody } from './kept-body.ts'

/** One exchange under way, and how far it has come. */
export class Run implements Timed {
  readonly downstream: Downstream
  readonly exchange: Exchange
  readonly listener: ListenerProgram
  route: RouteProgram | undefined = undefined
  backend: BackendProgram | undefined = undefined
  delivery: Delivery | undefined = undefined
  /** Read before its time, for an expression. */
  body: KeptBody | undefined = undefined
  /** The address that was asked last. */
  endpoint = ''
  readonly startedAt: number
  isOver = false
  /** Of the route's request timeout. */
  deadline = Number.POSITIVE_INFINITY
  whenExpired: (run: Run) => void = () => {}

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

  expire(): void {
    this.whenExpired(this)
  }
}
