import type { Exchange } from '../../exchange/exchange.ts'
import type { Header } from '../../exchange/header-edit.ts'
import type { EventBlock } from './event-blocks.ts'

/** What is sent to one server. */
export interface SentMessage {
  readonly text: string
  readonly kind: 'request' | 'notification' | 'response'
  readonly method: string
  /** As it is written, of a request. */
  readonly id: string
  /** What the message is for, by its name on the server, if its method repeats it in a header. */
  readonly name: string | undefined
  /** The revision that the client and the server speak; undefined before they agreed. */
  readonly version: string | undefined
  readonly session: ServerSession
}

/** What a server knows the client by. */
export interface ServerSession {
  /** The session of the client at the gateway: whoever holds connections for it finds them by this. */
  readonly key: string
  /** As the server named it; undefined if it has none. */
  readonly id: string | undefined
  /** `params` of `initialize`, as it is written, for servers that have to be told again. */
  readonly initialize: string | undefined
}

/** One message of a server, and the event that it came in. */
export interface Received {
  /** Undefined: an event without a message. */
  readonly text: string | undefined
  /** Undefined: it was the whole response. */
  readonly block: EventBlock | undefined
}

/** What comes back. After `ended` or `failed` there is nothing more. */
export interface ServerEvents {
  /** `accepted`: nothing follows. */
  began(form: 'message' | 'stream' | 'accepted', session: string | undefined): void
  /** False: no more until `resume`. */
  received(message: Received): boolean
  ended(): void
  failed(failure: ServerFailure): void
  /** Something threw, and then `failed` did: to be heard of all the same. Never throws. */
  broke?(error: unknown): void
}

export interface ServerFailure {
  /** What a client is told: the status of the server, or one that says why there is none. */
  readonly status: number
  /** In one word, for the log. */
  readonly reason: string
  /** What the server itself said, with its headers. */
  readonly body?: string
  readonly contentType?: string
  readonly headers?: readonly Header[]
  /** Where the user can see to it that the server is called the next time. */
  readonly link?: string
  /** Something of the gateway's own threw. */
  readonly error?: unknown
}

/** A server may send what is no JSON; all else that throws while it is read is ours. */
export function failureBy(error: unknown): ServerFailure {
  if (error instanceof SyntaxError) return { status: 502, reason: 'invalid-message' }
  return { status: 500, reason: 'internal', error }
}

export interface Sending {
  stop(): void
  resume(): void
}

export const NOT_SENDING: Sending = { stop() {}, resume() {} }

/** One server of a backend, however it is reached. `P`: what allows a message to be sent. */
export interface McpServer<P> {
  readonly name: string
  send(permit: P, exchange: Exchange, message: SentMessage, events: ServerEvents): Sending
  /** Messages that belong to no request; undefined: the server has no such stream. */
  listen?(
    permit: P,
    exchange: Exchange,
    session: ServerSession,
    resume: StreamResume,
    events: ServerEvents,
  ): Sending
  /** The client is done with its session. */
  end?(permit: P, exchange: Exchange, session: ServerSession, version: string | undefined): void
  /** Connections and processes of its own end with the configuration that has it. */
  close?(): void
}

export interface StreamResume {
  readonly version: string | undefined
  readonly lastEventId: string | undefined
}
