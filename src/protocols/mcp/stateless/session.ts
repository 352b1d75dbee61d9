import type { Exchange } from '../../../exchange/exchange.ts'
import { errorText } from '../errors.ts'
import type { HeldSession } from '../held-session.ts'
import { idKey, isObject, readServerMessage, type ServerMessage } from '../message.ts'
import { HANDSHAKE_REVISIONS } from '../revisions.ts'
import type { Sending, SentMessage, ServerEvents, ServerFailure } from '../server.ts'

/** How long a server may take to respond to `initialize`, in milliseconds. */
const MAX_HANDSHAKE = 300_000

/** How a server introduced itself. */
export interface ServerIntroduction {
  readonly protocolVersion: string
  readonly capabilities: Readonly<Record<string, unknown>>
  readonly serverInfo: unknown
  readonly instructions: unknown
}

/** A call that uses the session. */
export interface SessionCall {
  /** The ID of its request in the session, which is also its progress token. */
  readonly id: string
  /** The request of the client, for messages that belong to no other. */
  readonly exchange: Exchange
  /** Handles a notification: its progress, or something that the server logs. */
  notify(message: ServerMessage): void
  /** A request of the server to the client. Returns false if the client does not serve it. */
  request(message: ServerMessage): boolean
  /** The server no longer waits for the response to its request. */
  withdraw(id: string): void
}

/** A request of a client for notifications. */
export interface SessionListener {
  changed(message: ServerMessage): void
}

let requests = 0

/** A session of the gateway with a server, for requests of clients that have none. */
export class StatelessSession {
  readonly calls = new Set<SessionCall>()
  readonly listeners = new Set<SessionListener>()
  /** How many requests listen to each resource. */
  readonly resources = new Map<string, number>()
  /** The call during which the server may send requests to the client. */
  holder: SessionCall | undefined
  /** Resolves with the server's introduction once it has begun the session. */
  readonly introduced: Promise<ServerIntroduction | ServerFailure>
  readonly #held: HeldSession
  #exchange: Exchange
  #logLevel = ''

  constructor(held: HeldSession, initialize: string, exchange: Exchange) {
    this.#held = held
    this.#exchange = exchange
    held.intercept = (message) => this.#dispatch(message)
    this.introduced = this.#introduce(initialize, exchange)
  }

  get isOver(): boolean {
    return this.#held.isOver
  }

  /** Sends a request with an ID of the gateway (`nextId`). */
  send(request: OwnRequest, exchange: Exchange, events: ServerEvents): Sending {
    this.#exchange = exchange
    return this.#held.send(sentAs('request', request), exchange, events, undefined)
  }

  /** Sends a request, and ignores an error. Resolves with true if the server accepted it. */
  demand(method: string, params: string, exchange: Exchange): Promise<boolean> {
    return new Promise((resolve) => {
      const id = nextId()
      const text = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`
      const settle = () => resolve(false)
      const received = ({ text: response }: { readonly text: string | undefined }) => {
        resolve(readServerMessage(response ?? '').members.has('result'))
        return true
      }
      const events = { began() {}, received, ended: settle, failed: settle }
      this.send({ id, method, text }, exchange, events)
    })
  }

  /** Responds to a request of the server. `id` and `result` are as the others wrote them. */
  respond(id: string, result: string, exchange: Exchange): void {
    this.#write(`{"jsonrpc":"2.0","id":${id},"result":${result}}`, exchange)
  }

  reject(id: string, message: string, exchange: Exchange): void {
    this.#write(errorText(id, { code: NOT_SERVED, message }), exchange)
  }

  /** Keeps the session in use until the returned sending is stopped. */
  listen(events: Pick<ServerEvents, 'ended'>): Sending {
    const ended = () => events.ended()
    return this.#held.listen({ began() {}, received: () => true, ended, failed: ended })
  }

  /** Makes the server log what a client requests; other clients receive nothing of it. */
  logFrom(level: string, { capabilities }: ServerIntroduction, exchange: Exchange): void {
    if (!isObject(capabilities['logging']) || this.#logLevel === level) return
    this.#logLevel = level
    void this.demand('logging/setLevel', JSON.stringify({ level }), exchange)
  }

  #introduce(params: string, exchange: Exchange): Promise<ServerIntroduction | ServerFailure> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#held.close(), MAX_HANDSHAKE)
      timer.unref()
      const over = (how: ServerIntroduction | ServerFailure) => {
        clearTimeout(timer)
        resolve(how)
      }
      const id = nextId()
      const text = `{"jsonrpc":"2.0","id":${id},"method":"initialize","params":${params}}`
      const failed = (failure: ServerFailure) => over(failure)
      const received = ({ text: response = '' }: { readonly text: string | undefined }) => {
        const introduction = introductionIn(readServerMessage(response))
        if (introduction === undefined) {
          over(NOT_INTRODUCED)
          this.#held.close()
          return true
        }
        this.#write('{"jsonrpc":"2.0","method":"notifications/initialized"}', exchange)
        over(introduction)
        return true
      }
      const events = { began() {}, received, ended() {}, failed }
      this.send({ id, method: 'initialize', text }, exchange, events)
    })
  }

  #write(text: string, exchange: Exchange): void {
    const own = { id: 'null', method: '', text }
    this.#held.send(sentAs('notification', own), exchange, IGNORE_EVENTS, undefined)
  }

  /** Handles every message of the server that is not a response. */
  #dispatch(message: ServerMessage): void {
    const { kind, method, members } = message
    if (kind === 'request') {
      this.#request(message)
      return
    }
    const params = JSON.parse(members.get('params') ?? '{}') as NotificationParams
    if (method === 'notifications/progress') {
      const token = JSON.stringify(params.progressToken)
      for (const call of this.calls) if (call.id === token) call.notify(message)
    } else if (method === 'notifications/message') this.#only()?.notify(message)
    else if (method === 'notifications/cancelled') {
      this.holder?.withdraw(idKey(JSON.stringify(params.requestId ?? null)))
    } else for (const listener of this.listeners) listener.changed(message)
  }

  #request(message: ServerMessage): void {
    const { id = 'null', method } = message
    const call = this.#only()
    const exchange = call?.exchange ?? this.#exchange
    if (method === 'ping') this.respond(id, '{}', exchange)
    else if (call?.request(message) !== true) {
      this.reject(id, 'No client that serves this waits for a response.', exchange)
    }
  }

  /** The call that a message without a reference belongs to: unknown if there are several. */
  #only(): SessionCall | undefined {
    const [only, ...others] = this.calls
    return this.holder ?? (others.length === 0 ? only : undefined)
  }
}

interface NotificationParams {
  readonly progressToken?: unknown
  readonly requestId?: unknown
}

export interface OwnRequest {
  readonly id: string
  readonly method: string
  readonly text: string
}

/** Returns an ID that no other request to a server has, as JSON. */
export function nextId(): string {
  return `"portcullis-stateless-${requests++}"`
}

const NOT_SERVED = -32601
const NO_SESSION = { key: '', id: undefined, initialize: undefined }

function sentAs(kind: 'request' | 'notification', { id, method, text }: OwnRequest): SentMessage {
  return { kind, id, method, text, name: undefined, version: undefined, session: NO_SESSION }
}

const IGNORE_EVENTS: ServerEvents = { began() {}, received: () => true, ended() {}, failed() {} }
const NOT_INTRODUCED: ServerFailure = { status: 502, reason: 'not-initialized' }

function introductionIn({ members }: ServerMessage): ServerIntroduction | undefined {
  const result: unknown = JSON.parse(members.get('result') ?? 'null')
  if (!isObject(result)) return undefined
  const { protocolVersion, capabilities, serverInfo, instructions } = result
  if (typeof protocolVersion !== 'string') return undefined
  if (!HANDSHAKE_REVISIONS.includes(protocolVersion) || !isObject(capabilities)) return undefined
  return { protocolVersion, capabilities, serverInfo, instructions }
}
