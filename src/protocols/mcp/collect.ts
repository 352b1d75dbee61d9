import { idKey, readServerMessage, readServerSteps, type ServerMessage } from './message.ts'
import { failureBy, type McpServer, type SentMessage, type ServerFailure } from './server.ts'
import { inTurns, type Serving } from './serving.ts'

export type Collected =
  | { readonly ok: true; readonly message: ServerMessage; readonly session: string | undefined }
  | { readonly ok: false; readonly failure: ServerFailure }

const NO_RESPONSE: ServerFailure = { status: 502, reason: 'no-response' }

/** The max characters of a message to read in one turn. */
const MAX_AT_ONCE = 1 << 15

/** Sends one request to one server and returns its response; earlier messages are dropped. */
export function collect<P>(
  server: McpServer<P>,
  permit: P,
  serving: Serving<P>,
  message: SentMessage,
): Promise<Collected> {
  const key = idKey(message.id)
  return new Promise((resolve) => {
    let session: string | undefined
    let isOver = false
    /** A long message that is being read: later events wait for it. */
    let reading: Promise<void> | undefined
    const over = (collected: Collected) => {
      isOver = true
      resolve(collected)
    }
    const take = (received: ServerMessage) => {
      if (isOver || received.kind !== 'response' || received.id === undefined) return
      if (idKey(received.id) !== key) return
      over({ ok: true, message: received, session })
      // Messages after the response are dropped.
      queueMicrotask(() => sending.stop())
    }
    const after = (event: () => void) => {
      if (reading === undefined) event()
      else reading = reading.then(event)
    }
    const sending = server.send(permit, serving.exchange, message, {
      began(_, id) {
        session = id
      },
      received({ text }) {
        if (isOver || text === undefined) return true
        if (text.length <= MAX_AT_ONCE) after(() => take(readServerMessage(text)))
        else {
          const read = (reading ?? Promise.resolve()).then(async () => {
            const own = await inTurns(serving, readServerSteps(text))
            if (!serving.sendings.isStopped) take(own)
          })
          reading = read.catch((error: unknown) => over({ ok: false, failure: failureBy(error) }))
        }
        return true
      },
      ended: () => after(() => over({ ok: false, failure: NO_RESPONSE })),
      failed: (failure) => after(() => over({ ok: false, failure })),
    })
    serving.sendings.add(sending)
  })
}
