import type { Exchange } from '../../../exchange/exchange.ts'
import { CODES } from '../errors.ts'
import type { HeldSession } from '../held-session.ts'
import { readMessage } from '../message.ts'
import {
  NOT_SENDING,
  type Sending,
  type SentMessage,
  type ServerEvents,
  type ServerFailure,
} from '../server.ts'
import { StatelessCall, type WaitingCalls } from './call.ts'
import {
  errorFailure,
  mayRequestInput,
  readStateless,
  STATELESS_REVISION,
  type StatelessRequest,
} from './request.ts'
import { digestOf } from './scope.ts'
import { type ServerIntroduction, StatelessSession } from './session.ts'
import { StatelessSubscription } from './subscription.ts'

export interface SessionSource {
  /** Opens a session; undefined if there are too many. */
  open(exchange: Exchange): HeldSession | undefined
  /** Requests with the same scope may use the same session. */
  scopeOf(exchange: Exchange): string
}

/**
 * Serves clients of the revision without sessions at a server that has sessions: the gateway holds
 * them. Requests of one caller, from clients that introduce themselves alike, use the same session;
 * a call during which the server may request input has its session to itself.
 */
export class StatelessSessions {
  readonly #source: SessionSource
  readonly #byScope = new Map<string, StatelessSession[]>()
  readonly #waiting: WaitingCalls = new Map()

  constructor(source: SessionSource) {
    this.#source = source
  }

  send(exchange: Exchange, message: SentMessage, events: ServerEvents): Sending {
    if (message.kind !== 'request') {
      events.began('accepted', undefined)
      events.ended()
      return NOT_SENDING
    }
    const request = readStateless(message, exchange)
    if ('status' in request) {
      events.failed(request)
      return NOT_SENDING
    }
    const { requestState } = request
    if (requestState !== undefined) return this.#resume(requestState, request, events)
    if (!SERVED.has(request.method)) {
      events.failed(errorFailure(404, request.id, UNKNOWN_METHOD))
      return NOT_SENDING
    }
    const session = this.#sessionFor(request)
    if (session === undefined) {
      events.failed({ status: 503, reason: 'no-process' })
      return NOT_SENDING
    }
    if (request.method === 'server/discover') return discover(session, request, events)
    if (request.method !== 'subscriptions/listen') {
      return new StatelessCall(session, request, this.#waiting).begin(events)
    }
    const read = readMessage(Buffer.from(message.text))
    const notifications = typeof read === 'string' ? undefined : read.params['notifications']
    return new StatelessSubscription(session, request, events).begin(notifications)
  }

  /** A client repeats its request with the input that the server requested. */
  #resume(state: string, request: StatelessRequest, events: ServerEvents): Sending {
    const call = this.#waiting.get(state)
    this.#waiting.delete(state)
    if (call?.method === request.method) return call.resume(request, events)
    const message = 'Invalid params: requestState: the call has ended; begin it again'
    events.failed(errorFailure(200, request.id, { code: CODES.invalidParams, message }))
    return NOT_SENDING
  }

  #sessionFor(request: StatelessRequest): StatelessSession | undefined {
    const { exchange, initialize } = request
    const scope = digestOf([this.#source.scopeOf(exchange), initialize])
    const sessions = (this.#byScope.get(scope) ?? []).filter(({ isOver }) => !isOver)
    const isExclusive = mayRequestInput(request)
    const known = sessions.find(({ holder }) => !isExclusive || holder === undefined)
    if (known !== undefined) return known
    const held = this.#source.open(exchange)
    if (held === undefined) return undefined
    const session = new StatelessSession(held, initialize, exchange)
    this.#byScope.set(scope, [...sessions, session])
    held.onEnd = () => this.#forget(scope)
    return session
  }

  #forget(scope: string): void {
    const sessions = (this.#byScope.get(scope) ?? []).filter(({ isOver }) => !isOver)
    if (sessions.length > 0) this.#byScope.set(scope, sessions)
    else this.#byScope.delete(scope)
  }
}

/** Requests that servers with sessions serve in the same way, and those that are translated. */
const SERVED: ReadonlySet<string> = new Set([
  'server/discover',
  'subscriptions/listen',
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
])
const UNKNOWN_METHOD = { code: CODES.unknownMethod, message: 'Method not found' }

function discover(
  session: StatelessSession,
  { id }: StatelessRequest,
  events: ServerEvents,
): Sending {
  let isStopped = false
  void session.introduced.then((introduction: ServerIntroduction | ServerFailure) => {
    if (isStopped) return
    if ('status' in introduction) {
      events.failed(introduction)
      return
    }
    const result = JSON.stringify(discovered(introduction))
    events.began('message', undefined)
    events.received({ text: `{"jsonrpc":"2.0","id":${id},"result":${result}}`, block: undefined })
    events.ended()
  })
  const stop = () => {
    isStopped = true
  }
  return { stop, resume() {} }
}

function discovered({ capabilities, serverInfo, instructions }: ServerIntroduction): object {
  const { tasks: _, ...others } = capabilities
  return {
    resultType: 'complete',
    supportedVersions: [STATELESS_REVISION],
    capabilities: others,
    ...(typeof instructions === 'string' ? { instructions } : {}),
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
  }
}
