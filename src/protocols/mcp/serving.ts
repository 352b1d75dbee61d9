import type { Exchange } from '../../exchange/exchange.ts'
import type { Header } from '../../exchange/header-edit.ts'
import type { McpRecord } from '../../exchange/mcp-record.ts'
import type { MessageStreams } from '../../exchange/message-streams.ts'
import type { Reply } from '../../exchange/reply.ts'
import { REQUEST_SLICE, runCooperatively } from '../../model/steps.ts'
import type { McpMessage } from './attributes.ts'
import type { Catalog } from './catalog.ts'
import type { ConsentForm } from './consent.ts'
import type { ServerIdentity } from './handshake.ts'
import type { Names } from './names.ts'
import type { PinFinding, Pins } from './pins.ts'
import type { Seal } from './seal.ts'
import type { McpServer, Sending } from './server.ts'
import type { ClientSession } from './session.ts'

/** What the rules say. `P`: what allows a message to be sent. */
export interface McpRules<P> {
  /** Some rule may deny, or a tool may not be the one that it was: lists are looked through. */
  readonly isGuarded: boolean
  /** A message about a tool, a prompt or a resource; undefined: denied. */
  decide(exchange: Exchange, message: McpMessage): P | undefined
  /** A message about none of them: denied only if no tool, prompt or resource could be allowed. */
  admit(exchange: Exchange, message: McpMessage): P | undefined
  /** An item of a list, of which the arguments are not known. */
  shows(exchange: Exchange, message: McpMessage): boolean
  /** The challenge for a message that was denied, if a token with more scopes would pass. */
  stepUp(exchange: Exchange): string | undefined
  /** Tools are not the ones that were pinned. */
  unpinned(exchange: Exchange, finding: PinFinding): void
}

/** The way to the client. */
export interface McpResponder {
  reply(reply: Reply): void
  /** Begins an event stream. */
  open(headers: readonly Header[]): void
  /** False: no more until `resume` of what is served. */
  write(text: string): boolean
  end(): void
  /** The stream cannot be whole: the client has to see that. */
  abort(reason: string): void
  /** Something threw: an error of ours. */
  broke(error: unknown): void
}

/** One backend of MCP servers, as it was configured. */
export interface EndpointPlan<P> {
  readonly name: string
  readonly servers: readonly McpServer<P>[]
  readonly names: Names
  readonly catalog: Catalog
  /** Of each server, in the same order; undefined: its tools are not pinned. */
  readonly pins: readonly (Pins | undefined)[]
  readonly rules: McpRules<P>
  readonly seal: Seal
  /** Of clients that speak the transport of 2024-11-05. */
  readonly streams: MessageStreams
  readonly failsOpen: boolean
  /** Servers have to be told again who a client is when another process goes on with its session. */
  readonly keepsInitialize: boolean
  readonly identity: ServerIdentity
  readonly onlyLocal: boolean
}

/** One request of a client, while it is served. */
export interface Serving<P> {
  readonly plan: EndpointPlan<P>
  readonly exchange: Exchange
  readonly responder: McpResponder
  readonly caller: string
  readonly session: ClientSession | undefined
  /** As the client names it in a header; undefined: it does not. */
  readonly version: string | undefined
  /** `_meta` for requests of the gateway's own on behalf of this one, as it is written. */
  readonly meta: string | undefined
  /** How the client is told of a server that its user has to consent to first. */
  readonly consent: ConsentForm
  readonly sendings: Sendings
  readonly record: McpRecord
}

/** Everything that is under way for one request. */
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

/** Goes on with what was waited for, unless nobody wants it any more. */
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

/** Something long in turns, between which others have theirs. Once nobody wants it, it ends. */
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
    // Nobody looks at what it comes to (`onDone`).
    if (sendings.isStopped) return undefined as T
    yield
  }
}
