import type { Exchange } from '../../exchange/exchange.ts'
import type { Header } from '../../exchange/header-edit.ts'
import type { EventBlock } from './event-blocks.ts'

/** A message to one server. */
export interface SentMessage {
  readonly text: string
  readonly kind: 'request' | 'notification' | 'response'
  readonly method: string
  /** For a request, as written. */
  readonly id: string
  /** The server's name for the object of the message, if its method repeats it in a header. */
  readonly name: string | undefined
  /** The revision that the client and the server speak; undefined before they have agreed. */
  readonly version: string | undefined
  readonly session: ServerSession
}

/** The client's session, as the server knows it. */
export interface ServerSession {
  /** The client's session at the gateway: the key under which connections for it are held. */
  readonly key: string
  /** The ID that the server assigned; undefined if it has none. */
  readonly id: string | undefined
  /** `params` of `initialize`, as written, for servers that must receive them again. */
  readonly initialize: string | undefined
}

/** One message of a server, and the event that contained it. */
export interface Received {
  /** Undefined for an event without a message. */
  readonly text: string | undefined
  /** Undefined if it was the whole response. */
  readonly block: EventBlock | undefined
}

/** Events of a response. Nothing follows `ended` or `failed`. */
export interface ServerEvents {
  /** `accepted`: nothing follows. */
  began(form: 'message' | 'stream' | 'accepted', session: string | undefined): void
  /** Returns false to pause until `resume`. */
  received(message: Received): boolean
  ended(): void
  failed(failure: ServerFailure): void
  /** Reports an exception when `failed` threw as well. Never throws. */
  broke?(error: unknown): void
}

export interface ServerFailure {
  /** The status for the client: the server's, or one that shows why there is none. */
  readonly status: number
  /** In one word, for the log. */
  readonly reason: string
  /** The server's own response, with its headers. */
  readonly body?: string
  readonly contentType?: string
  readonly headers?: readonly Header[]
  /** A page where the user can enable the next call to the server. */
  readonly link?: string
  /** Set if the gateway's own code threw. */
  readonly error?: unknown
}

/** A server may send invalid JSON; any other exception while reading is an error of the gateway. */
export function failureBy(error: unknown): ServerFailure {
  if (error instanceof SyntaxError) return { status: 502, reason: 'invalid-message' }
  return { status: 500, reason: 'internal', error }
}

export interface Sending {
  stop(): void
  resume(): void
}

export const NOT_SENDING: Sending = { stop() {}, resume() {} }

/** One server of a backend, over any transport. `P` is the permit to send a message. */
export interface McpServer<P> {
  readonly name: string
  send(permit: P, exchange: Exchange, message: SentMessage, events: ServerEvents): Sending
  /** Messages that belong to no request; undefined if the server has no such stream. */
  listen?(
    permit: P,
    exchange: Exchange,
    session: ServerSession,
    resume: StreamResume,
    events: ServerEvents,
  ): Sending
  /** The client has ended its session. Resolves with false if the server may still know it. */
  end?(
    permit: P,
    exchange: Exchange,
    session: ServerSession,
    version: string | undefined,
  ): Promise<boolean>
  /** Closes the server's own connections and processes, together with its configuration. */
  close?(): void
}

export interface StreamResume {
  readonly version: string | undefined
  readonly lastEventId: string | undefined
}
