import type { Connection } from '../../src/exchange/connection.ts'
import type { Exchange } from '../../src/exchange/exchange.ts'
import { Permit } from '../../src/program/permit.ts'
import type {
  BackendProgram,
  McpUpstream,
  RouteProgram,
  Selection,
} from '../../src/program/program.ts'
import type { McpServer } from '../../src/protocols/mcp/server.ts'
import type { DownstreamSocket } from '../../src/proxy/accept.ts'
import { Delivery, type DeliveryEvents } from '../../src/proxy/delivery.ts'
import { Forward } from '../../src/proxy/forward.ts'
import type { ForwardEvents } from '../../src/proxy/forward-events.ts'
import { McpDelivery } from '../../src/proxy/mcp-delivery.ts'
import { MirrorCopy } from '../../src/proxy/mirror.ts'
import { type Port, RequestLoop } from '../../src/proxy/request-loop.ts'
import type { RequestState } from '../../src/proxy/request-state.ts'
import type { StreamTarget } from '../../src/proxy/stream-types.ts'
import { serveStream } from '../../src/proxy/tcp.ts'

/** All values that code which forwards a request has; none of them proves a decision. */
interface Stage {
  readonly connection: Connection
  readonly exchange: Exchange
  readonly route: RouteProgram
  readonly backend: BackendProgram
  readonly selection: Selection
  readonly accepted: DownstreamSocket
  readonly target: StreamTarget
  readonly run: RequestState
  readonly port: Port
  readonly events: DeliveryEvents & ForwardEvents
  readonly traffic: Permit<'traffic'>
  readonly message: Permit<'mcp'>
  readonly server: McpServer<Permit<'mcp'>>
  readonly asked: McpUpstream
  readonly anything: never[]
}

/** Never run: each of these must be a type error, or the type check fails. */
export function sendUndecided(stage: Stage): readonly unknown[] {
  const { connection, exchange, route, backend, selection, run, port, events, traffic } = stage
  const { accepted, target, message, server, asked } = stage
  const [head, edit, cluster, pool, listener, socket, dialing] = stage.anything as [
    never,
    never,
    never,
    never,
    never,
    never,
    never,
  ]
  const { downstream } = run
  const broke = () => {}
  return [
    // @ts-expect-error only the stages create one
    new Permit('backend'),
    // @ts-expect-error no other object has its type
    { stage: 'backend' } satisfies Permit<'backend'>,
    // @ts-expect-error connection: requests of a connection without a decision
    new RequestLoop(undefined, port, connection),
    // @ts-expect-error connection: its bytes
    serveStream(undefined, accepted, listener, socket, connection, target),
    // @ts-expect-error connection: a backend is dialed for its bytes
    target.dial(undefined, dialing),
    // @ts-expect-error traffic: without the decision about the connection
    Permit.traffic(undefined, route, exchange),
    // @ts-expect-error traffic: the result of its steps is not a permit
    Permit.backend(route.run(exchange), backend, exchange),
    // @ts-expect-error backend: the request is admitted, but not to the backend
    new Delivery(run, traffic, events),
    // @ts-expect-error backend: the result of its steps is not a permit
    new Delivery(run, backend.run(exchange), events),
    // @ts-expect-error backend: an attempt
    new Forward(traffic, downstream, exchange, pool, 0, events),
    // @ts-expect-error backend: a copy
    MirrorCopy.send(undefined, head, exchange, edit, cluster, false, broke, broke),
    // @ts-expect-error provider: without the decision about its backend
    Permit.provider(traffic, selection),
    // @ts-expect-error provider: the result of its steps is not a permit
    new Forward(selection.next(), downstream, exchange, pool, 0, events),
    // @ts-expect-error mcp: a message for which no rule was evaluated
    server.send(undefined, exchange, head, dialing),
    // @ts-expect-error mcp: the permit of its request is not a decision about a message
    server.send(traffic, exchange, head, dialing),
    // @ts-expect-error mcp: all messages of a request that was not admitted to the backend
    new McpDelivery(run, dialing).start(asked, traffic),
    // @ts-expect-error mcp: an admitted message is not an admitted request
    new Forward(message, downstream, exchange, pool, 0, events),
  ]
}
