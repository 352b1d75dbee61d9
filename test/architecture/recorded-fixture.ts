import type { Exchange } from '../../src/exchange/exchange.ts'
import { Recorded } from '../../src/exchange/recorded.ts'
import type { Reply } from '../../src/exchange/reply.ts'
import type { RejectedSockets } from '../../src/proxy/rejected-sockets.ts'
import {
  type OwnResponse,
  sendOwnResponse,
  writeRejection,
  writeReply,
} from '../../src/proxy/replies.ts'
import type { Downstream } from '../../src/wire/downstream.ts'
import { NO_LINES } from '../../src/wire/http1/field-lines.ts'

/** All values that code which rejects a request has; none of them proves a record. */
interface Rejecting {
  readonly downstream: Downstream
  readonly exchange: Exchange
  readonly reply: Reply
  readonly own: OwnResponse
  readonly sockets: RejectedSockets
  readonly anything: never[]
}

/** Never run: each of these must be a type error, or the type check fails. */
export function rejectUnrecorded(rejecting: Rejecting): readonly unknown[] {
  const { downstream, exchange, reply, own, sockets, anything } = rejecting
  const [edit, socket] = anything as [never, never]
  return [
    // @ts-expect-error only a recorder creates one
    new Recorded(),
    // @ts-expect-error no other object has its type
    {} satisfies Recorded,
    // @ts-expect-error the wire
    downstream.reply(undefined, 403, NO_LINES, ''),
    // @ts-expect-error a reply
    writeReply(downstream, exchange, undefined, reply),
    // @ts-expect-error a reply that policies changed
    sendOwnResponse(downstream, exchange, undefined, own, edit, false),
    // @ts-expect-error a request that was not read
    writeRejection(downstream, undefined, 400, 'id', undefined, NO_LINES),
    // @ts-expect-error a connection over the limit
    sockets.report(socket, undefined, 'id'),
  ]
}
