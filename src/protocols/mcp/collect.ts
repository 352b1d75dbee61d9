import type { Exchange } from '../../exchange/exchange.ts'
import { readServerMessage, type ServerMessage } from './message.ts'
import type { McpServer, Sending, SentMessage, ServerFailure } from './server.ts'

export type Collected =
  | { readonly ok: true; readonly message: ServerMessage; readonly session: string | undefined }
  | { readonly ok: false; readonly failure: ServerFailure }

const NO_RESPONSE: ServerFailure = { status: 502, reason: 'no-response' }

/** One request to one server and its response; what comes before the response goes to `others`. */
export function collect<P>(
  server: McpServer<P>,
  permit: P,
  exchange: Exchange,
  message: SentMessage,
  keep: (sending: Sending) => void,
  others: (text: string) => void = () => {},
): Promise<Collected> {
  return new Promise((resolve) => {
    let session: string | undefined
    let isOver = false
    const over = (collected: Collected) => {
      isOver = true
      resolve(collected)
    }
    const sending = server.send(permit, exchange, message, {
      began(_, id) {
        session = id
      },
      received({ text }) {
        if (isOver || text === undefined) return true
        const received = readServerMessage(text)
        if (received.kind === 'response' && received.id === message.id) {
          over({ ok: true, message: received, session })
          // What a server still sends after its response is for nobody.
          queueMicrotask(() => sending.stop())
        } else if (received.kind !== 'unknown') others(text)
        return true
      },
      ended: () => over({ ok: false, failure: NO_RESPONSE }),
      failed: (failure) => over({ ok: false, failure }),
    })
    keep(sending)
  })
}
