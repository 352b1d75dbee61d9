import type { Exchange } from '../../exchange/exchange.ts'
import { REQUEST_SLICE, runCooperatively, runToCompletion } from '../../model/steps.ts'
import { CODES, errorText } from './errors.ts'
import { emptied, type GuardMcpText, guardMessage } from './guarded-message.ts'
import { readServerMessage } from './message.ts'
import {
  failureBy,
  type McpServer,
  NOT_SENDING,
  type Received,
  type Sending,
  type SentMessage,
  type ServerEvents,
  type ServerFailure,
} from './server.ts'

/** The guards of one request; undefined if there are none in that direction. */
export interface McpGuards {
  readonly request: GuardMcpText | undefined
  readonly response: GuardMcpText | undefined
}

export type GuardsFor = (exchange: Exchange) => McpGuards | undefined

/** Wraps a server so that all messages are guarded: calls, results, and messages it initiates. */
export function guardServer<P>(server: McpServer<P>, guardsFor: GuardsFor): McpServer<P> {
  const { listen } = server
  return {
    name: server.name,
    send(permit, exchange, message, events) {
      const guards = guardsFor(exchange)
      if (guards === undefined) return server.send(permit, exchange, message, events)
      const { request, response } = guards
      return guardSending(events, response, (guarded) => {
        const send = (own: SentMessage) => server.send(permit, exchange, own, guarded)
        return request === undefined
          ? send(message)
          : inTurns(message.text, guardSent(message, request), guarded, (own) => {
              if ('text' in own) return send(own)
              respondInstead(message, own.rejection, events)
              return NOT_SENDING
            })
      })
    },
    ...(listen && {
      listen: (permit, exchange, session, resume, events) =>
        guardSending(events, guardsFor(exchange)?.response, (guarded) =>
          listen.call(server, permit, exchange, session, resume, guarded),
        ),
    }),
    ...(server.end && { end: server.end.bind(server) }),
    ...(server.close && { close: () => server.close?.() }),
  }
}

/** The max characters of a message to search in one turn. */
const MAX_AT_ONCE = 1 << 16

/** Calls `next` when the steps for this text are done: at once, or after other requests' turns. */
function inTurns<T>(
  text: string,
  steps: Generator<void, T>,
  events: Pick<ServerEvents, 'failed'>,
  next: (value: T) => Sending,
): Sending {
  if (text.length <= MAX_AT_ONCE) return next(runToCompletion(steps))
  const later = new LaterSending()
  runCooperatively(later.whileWanted(steps), () => performance.now(), REQUEST_SLICE)
    .then((value) => {
      if (!later.isStopped) later.begin(next(value))
    })
    .catch((error: unknown) => events.failed(failureBy(error)))
  return later
}

/** For a message that has not been sent yet. */
class LaterSending implements Sending {
  isStopped = false
  #own: Sending | undefined

  begin(own: Sending): void {
    this.#own = own
  }

  stop(): void {
    this.isStopped = true
    this.#own?.stop()
  }

  resume(): void {
    this.#own?.resume()
  }

  /** Steps that no request waits for end, and their result is ignored. */
  *whileWanted<T>(steps: Generator<void, T>): Generator<void, T> {
    for (;;) {
      const { done, value } = steps.next()
      if (done === true) return value
      if (this.isStopped) return undefined as T
      yield
    }
  }
}

function respondInstead({ kind, id }: SentMessage, rejection: string, events: ServerEvents): void {
  if (kind !== 'request') {
    events.began('accepted', undefined)
    return
  }
  events.began('message', undefined)
  events.received({ text: rejected(id, rejection), block: undefined })
  events.ended()
}

function rejected(id: string, message: string): string {
  return errorText(id, { code: CODES.invalidParams, message })
}

function* guardSent(
  message: SentMessage,
  guard: GuardMcpText,
): Generator<void, SentMessage | { readonly rejection: string }> {
  const { text, rejection } = yield* guardMessage(message.text, guard)
  if (text === undefined) return { rejection: rejection ?? '' }
  return text === message.text ? message : { ...message, text }
}

/** Begins a sending whose events are guarded. */
function guardSending(
  events: ServerEvents,
  guard: GuardMcpText | undefined,
  begin: (events: ServerEvents) => Sending,
): Sending {
  if (guard === undefined) return begin(events)
  const guarded = new GuardedEvents(events, guard)
  guarded.sending = begin(guarded)
  return guarded
}

/** Keeps events in order while searching one of them takes several turns. */
class GuardedEvents implements ServerEvents, Sending {
  sending: Sending = NOT_SENDING
  readonly #events: ServerEvents
  readonly #guard: GuardMcpText
  /** Events that arrived during a search; undefined if none is running. */
  #waiting: (() => void)[] | undefined
  #isStopped = false
  /** True while the receiver accepts more events. */
  #isReady = true

  constructor(events: ServerEvents, guard: GuardMcpText) {
    this.#events = events
    this.#guard = guard
  }

  stop(): void {
    this.#isStopped = true
    this.sending.stop()
  }

  resume(): void {
    this.#isReady = true
    if (this.#waiting === undefined) this.sending.resume()
  }

  began(form: 'message' | 'stream' | 'accepted', session: string | undefined): void {
    this.#events.began(form, session)
  }

  received(received: Received): boolean {
    this.#run(received.text, guardReceived(received, this.#guard), (own) => {
      this.#isReady = this.#events.received(own)
    })
    return this.#waiting === undefined && this.#isReady
  }

  ended(): void {
    this.#inOrder(() => this.#events.ended())
  }

  failed(failure: ServerFailure): void {
    // An exception is reported at once: the events before it may never arrive.
    if ('error' in failure) this.#events.failed(failure)
    else
      this.#run(failure.body, guardFailure(failure, this.#guard), (own) => this.#events.failed(own))
  }

  #run<T>(text: string | undefined, steps: Generator<void, T>, deliver: (own: T) => void): void {
    this.#inOrder(() => {
      if ((text?.length ?? 0) <= MAX_AT_ONCE) {
        deliver(runToCompletion(steps))
        return
      }
      this.#waiting = []
      runCooperatively(steps, () => performance.now(), REQUEST_SLICE)
        .then((own) => {
          if (this.#isStopped) return
          deliver(own)
          this.#goOn()
        })
        .catch((error: unknown) => this.#events.failed(failureBy(error)))
    })
  }

  #inOrder(event: () => void): void {
    if (this.#waiting === undefined) event()
    else this.#waiting.push(event)
  }

  #goOn(): void {
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const event of waiting) this.#inOrder(event)
    if (this.#waiting === undefined && this.#isReady) this.sending.resume()
  }
}

function* guardReceived(received: Received, guard: GuardMcpText): Generator<void, Received> {
  const { text: own } = received
  if (own === undefined) return received
  const { text, rejection } = yield* guardMessage(own, guard)
  if (rejection === undefined) return text === own ? received : { ...received, text }
  const { kind, id = 'null' } = readServerMessage(own)
  // No client waits for a message that is not a response: it is sent without its content.
  const said = kind === 'response' ? rejected(id, rejection) : yield* emptied(own)
  return { text: said, block: received.block }
}

/** A server's failure body has no known format. */
function* guardFailure(
  failure: ServerFailure,
  guard: GuardMcpText,
): Generator<void, ServerFailure> {
  const { body = '', ...rest } = failure
  if (body === '') return failure
  const { text } = yield* guardMessage(body, guard)
  return text === undefined ? rest : { ...rest, body: text }
}
