import { isCrowded } from '../long-json.ts'
import { methodOf } from './methods.ts'
import {
  type McpServer,
  NOT_SENDING,
  type Received,
  type Sending,
  type ServerEvents,
  type ServerFailure,
} from './server.ts'

/** How many times the values of model output may be read at once. */
const SCALE = 2

const TOO_CROWDED: ServerFailure = { status: 502, reason: 'too-many-values' }

/**
 * Limits the messages of a server: a message with so many values that reading it would block other
 * requests ends the call with a failure. Lists that a server offers are read in steps.
 */
export function boundMessages<P>(server: McpServer<P>): McpServer<P> {
  const { listen } = server
  return {
    name: server.name,
    send(permit, exchange, message, events) {
      const isList = methodOf(message.method)?.kind === 'list'
      if (isList) return server.send(permit, exchange, message, events)
      return bounded(events, (own) => server.send(permit, exchange, message, own))
    },
    ...(listen && {
      listen: (permit, exchange, session, resume, events) =>
        bounded(events, (own) => listen.call(server, permit, exchange, session, resume, own)),
    }),
    ...(server.end && { end: server.end.bind(server) }),
    ...(server.close && { close: () => server.close?.() }),
  }
}

function bounded(events: ServerEvents, begin: (events: ServerEvents) => Sending): Sending {
  const own = new BoundedEvents(events)
  const sending = begin(own)
  own.sending = sending
  if (own.isOver) sending.stop()
  return sending
}

class BoundedEvents implements ServerEvents {
  sending: Sending = NOT_SENDING
  isOver = false
  readonly #events: ServerEvents

  constructor(events: ServerEvents) {
    this.#events = events
  }

  began(form: 'message' | 'stream' | 'accepted', session: string | undefined): void {
    if (!this.isOver) this.#events.began(form, session)
  }

  received(received: Received): boolean {
    if (this.isOver) return false
    if (!isCrowded(received.text ?? '', SCALE)) return this.#events.received(received)
    this.isOver = true
    this.sending.stop()
    this.#events.failed(TOO_CROWDED)
    return false
  }

  ended(): void {
    if (!this.isOver) this.#events.ended()
  }

  failed(failure: ServerFailure): void {
    if (!this.isOver) this.#events.failed(failure)
  }

  broke(error: unknown): void {
    this.#events.broke?.(error)
  }
}
