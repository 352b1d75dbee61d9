import {
  failureBy,
  type McpServer,
  NOT_SENDING,
  type Received,
  type Sending,
  type ServerEvents,
  type ServerFailure,
} from './server.ts'

/**
 * A server whose event handlers may throw: an exception ends the call with one failure, whether a
 * socket, a process or a timer delivered the event. Otherwise a client would wait forever.
 */
export function catchThrows<P>(server: McpServer<P>): McpServer<P> {
  const { listen } = server
  return {
    name: server.name,
    send: (permit, exchange, message, events) =>
      caught(events, (own) => server.send(permit, exchange, message, own)),
    ...(listen && {
      listen: (permit, exchange, session, resume, events) =>
        caught(events, (own) => listen.call(server, permit, exchange, session, resume, own)),
    }),
    ...(server.end && { end: server.end.bind(server) }),
    ...(server.close && { close: () => server.close?.() }),
  }
}

function caught(events: ServerEvents, begin: (events: ServerEvents) => Sending): Sending {
  const own = new CaughtEvents(events)
  const sending = begin(own)
  own.sending = sending
  if (own.isOver) sending.stop()
  return sending
}

class CaughtEvents implements ServerEvents {
  sending: Sending = NOT_SENDING
  /** True once something threw: the call has failed. */
  isOver = false
  readonly #events: ServerEvents

  constructor(events: ServerEvents) {
    this.#events = events
  }

  began(form: 'message' | 'stream' | 'accepted', session: string | undefined): void {
    this.#run(() => this.#events.began(form, session))
  }

  received(received: Received): boolean {
    let goesOn = true
    this.#run(() => {
      goesOn = this.#events.received(received)
    })
    return goesOn
  }

  ended(): void {
    this.#run(() => this.#events.ended())
  }

  failed(failure: ServerFailure): void {
    this.#run(() => this.#events.failed(failure))
  }

  #run(event: () => void): void {
    if (this.isOver) return
    try {
      event()
    } catch (error) {
      this.isOver = true
      this.sending.stop()
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    try {
      this.#events.failed(failureBy(error))
    } catch (other) {
      if (this.#events.broke === undefined) throw other
      this.#events.broke(other)
    }
  }
}
