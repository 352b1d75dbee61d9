import type { Deadlines } from '../wire/deadlines.ts'
import { isPreface } from '../wire/http2/preface.ts'
import { ServerSession } from '../wire/http2/server.ts'
import type { Http2 } from './accept-deps.ts'

/** Serves HTTP/2 on accepted sockets. */
export function http2Sessions(deadlines: Deadlines): Http2 {
  return {
    isPreface,
    serve: (socket, events, plan, observer) =>
      new ServerSession(socket, plan.http2, deadlines, events, observer),
  }
}
