import type { EndedSessions } from '../../exchange/ended-sessions.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import type { Header } from '../../exchange/header-edit.ts'
import type { McpRecord } from '../../exchange/mcp-record.ts'
import type { MessageStreams } from '../../exchange/message-streams.ts'
import type { Reply } from '../../exchange/reply.ts'
import { REQUEST_SLICE, runCooperatively } from '../../model/steps.ts'
import type { McpMessage } from './attributes.ts'
import type { Catalog } from './catalog.ts'
import type { ConsentForm } from './consent.ts'
import type { AcceptedHosts } from './foreign-pages.ts'
import type { ServerIdentity } from './handshake.ts'
import type { Names } from './names.ts'
import type { PinFinding, Pins } from './pins.ts'
import type { Seal } from './seal.ts'
import type { McpServer, Sending } from './server.ts'
import type { ClientSession } from './session.ts'

/** The rules of an endpoint. `P` is the permit to send a message. */
export interface McpRules<P> {
  /** True if a rule may deny, or a tool may differ from its pin: lists are inspected. */
  readonly isGuarded: boolean
  /** Evaluates a message about a tool, a prompt or a resource; undefined if it is denied. */
  decide(exchange: Exchange, message: McpMessage): P | undefined
  /** Evaluates any other message: denied only if no tool, prompt or resource could be allowed. */
  admit(exchange: Exchange, message: McpMessage): P | undefined
  /** Evaluates an item of a list, whose arguments are unknown. */
  shows(exchange: Exchange, message: McpMessage): boolean
  /** Returns the challenge for a denied message, if a token with more scopes would be allowed. */
  stepUp(exchange: Exchange): string | undefined
  /** Reports tools that differ from their pins. */
  unpinned(exchange: Exchange, finding: PinFinding): void
}

/** Sends responses to the client. */
export interface McpResponder {
  reply(reply: Reply): void
  /** Begins an event stream. */
  open(headers: readonly Header[]): void
  /** Returns false to pause until `resume`. */
  write(text: string): boolean
  end(): void
  /** Makes the client see that the stream is incomplete. */
  abort(reason: string): void
  /** Reports an exception: an error of the gateway. */
  broke(error: unknown): void
}

/** One backend of MCP servers, as configured. */
export interface EndpointPlan<P> {
  readonly name: string
  readonly servers: readonly McpServer<P>[]
  readonly names: Names
  readonly catalog: Catalog
  /** The pins of each server, in the same order; undefined if its tools are not pinned. */
  readonly pins: readonly (Pins | undefined)[]
  readonly rules: McpRules<P>
  readonly seal: Seal
  /** Sessions that clients ended, at any process. */
  readonly ended: EndedSessions
  /** Streams of clients that speak the transport of 2024-11-05. */
  readonly streams: MessageStreams
  readonly failsOpen: boolean
  /** True if servers must receive `initialize` again when another process continues a session. */
  readonly keepsInitialize: boolean
  readonly identity: ServerIdentity
  readonly hosts: AcceptedHosts
}

/** One request of a client while it is served. */
export interface Serving<P> {
  readonly plan: EndpointPlan<P>
  readonly exchange: Exchange
  readonly responder: McpResponder
  readonly caller: string
  readonly session: ClientSession | undefined
  /** The revision in the client's header, if any. */
  readonly version: string | undefined
  /** `_meta` for the gateway's own requests on behalf of this one, as written. */
  readonly meta: string | undefined
  /** How the client learns that a server requires the user's consent. */
  readonly consent: ConsentForm
  readonly sendings: Sendings
  readonly record: McpRecord
}

/** Everything that is in progress for one request. */
export class Sendings implements Sending {
  isStopped = false
  readonly #all = new Set<Sending>()

  readonly add = (sending: Sending): void => {
    if (this.isStopped) sending.stop()
    else this.#all.add(sending)
  }

  stop(): void {
    this.isStopped = true
    for (const sending of this.#all) sending.stop()
    this.#all.clear()
  }

  resume(): void {
    for (const sending of this.#all) sending.resume()
  }
}

/** Calls `next` with the result, unless the request has been stopped. */
export function onDone<P, T>(
  { sendings, responder }: Serving<P>,
  awaited: Promise<T>,
  next: (value: T) => void,
): void {
  awaited
    .then((value) => {
      if (!sendings.isStopped) next(value)
    })
    .catch((error: unknown) => responder.broke(error))
}

/** Runs long steps in turns, between which other requests get theirs, until the request stops. */
export function inTurns<P, T>(serving: Serving<P>, steps: Generator<void, T>): Promise<T> {
  return runCooperatively(whileWanted(serving, steps), () => performance.now(), REQUEST_SLICE)
}

function* whileWanted<P, T>(
  { sendings }: Serving<P>,
  steps: Generator<void, T>,
): Generator<void, T> {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    // The result is ignored (`onDone`).
    if (sendings.isStopped) return undefined as T
    yield
  }
}
