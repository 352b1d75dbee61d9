import type { Exchange } from '../../exchange/exchange.ts'
import type { Reply } from '../../exchange/reply.ts'
import { CODES, errorText } from './errors.ts'
import { type Channel, HeldSession } from './held-session.ts'
import { HANDSHAKE_REVISIONS, isModern } from './revisions.ts'
import {
  type McpServer,
  NOT_SENDING,
  type Sending,
  type SentMessage,
  type ServerEvents,
  type ServerFailure,
  type ServerSession,
  type StreamResume,
} from './server.ts'
import { newSessionKey } from './session.ts'

/** Events of a channel. */
export interface ChannelEvents {
  message(text: string): void
  /** Called once, when the channel is gone. `reply`: a policy rejected the request to open it. */
  ended(why: string, reply?: Reply): void
}

/** Opens a channel on behalf of an exchange. */
export type OpenChannel = (exchange: Exchange, events: ChannelEvents) => Channel

export interface HeldServerOptions {
  readonly name: string
  /** How long an unused channel is kept, in milliseconds. */
  readonly sessionTtl: number
  /** The max channels at once; each session has one. */
  readonly maxSessions: number
  readonly openChannel: OpenChannel
}

/** A channel that ends right away is not reopened earlier than this, in milliseconds. */
const MIN_LIFE = 1_000

/**
 * A server with one channel per session: a program, or a stream of events. A session's ID contains
 * everything needed to begin it again, so a channel that has ended, or is in another worker, is
 * replaced when it is used again.
 */
export class HeldMcpServer<P> implements McpServer<P> {
  readonly name: string
  readonly #options: HeldServerOptions
  readonly #sessions = new Map<string, HeldSession>()
  readonly #timer: NodeJS.Timeout
  #openChannel: OpenChannel
  #failedAt = Number.NEGATIVE_INFINITY

  constructor(options: HeldServerOptions) {
    this.name = options.name
    this.#options = options
    this.#openChannel = options.openChannel
    const interval = Math.max(1_000, Math.min(options.sessionTtl / 2, 30_000))
    this.#timer = setInterval(() => this.#closeIdle(), interval)
    this.#timer.unref()
  }

  /** New channels are opened according to the newest configuration. */
  update(openChannel: OpenChannel): void {
    this.#openChannel = openChannel
  }

  send(_: P, exchange: Exchange, message: SentMessage, events: ServerEvents): Sending {
    if (isModern(message.version)) {
      events.failed(unsupportedVersion(message))
      return NOT_SENDING
    }
    const isHandshake = message.method === 'initialize'
    const key = isHandshake ? newSessionKey() : (message.session.id ?? '')
    const session = isHandshake
      ? this.#open(key, exchange)
      : this.#resume(key, message.session, exchange)
    if (session === undefined) {
      events.failed({ status: key === '' ? 400 : 503, reason: 'no-process' })
      return NOT_SENDING
    }
    if (!isHandshake) return session.send(message, exchange, events, undefined)
    const named: ServerEvents = {
      began: (form) => events.began(form, key),
      received: (received) => events.received(received),
      ended: () => events.ended(),
      failed: (failure) => events.failed(failure),
    }
    return session.send(message, exchange, named, key)
  }

  listen(
    _: P,
    exchange: Exchange,
    session: ServerSession,
    __: StreamResume,
    events: ServerEvents,
  ): Sending {
    const held = this.#resume(session.id ?? '', session, exchange)
    if (held !== undefined) return held.listen(events)
    events.failed({ status: 405, reason: 'no-process' })
    return NOT_SENDING
  }

  end(_: P, __: Exchange, { id = '' }: ServerSession): void {
    this.#sessions.get(id)?.close()
    this.#sessions.delete(id)
  }

  close(): void {
    clearInterval(this.#timer)
    for (const session of this.#sessions.values()) session.close()
    this.#sessions.clear()
  }

  #open(key: string, exchange: Exchange): HeldSession | undefined {
    const now = performance.now()
    const { maxSessions } = this.#options
    if (this.#sessions.size >= maxSessions) this.#closeOldest()
    if (this.#sessions.size >= maxSessions || now - this.#failedAt < MIN_LIFE) return undefined
    let session: HeldSession | undefined
    let ended: string | undefined
    const channel = this.#openChannel(exchange, {
      message: (text) => session?.receive(text),
      ended: (why, reply) => {
        ended = why
        const isEarly = performance.now() - now < MIN_LIFE && session?.isOver !== true
        // A problem with one client is no reason to make others wait.
        if (isEarly && reply === undefined) this.#failedAt = now
        session?.end(`process-ended: ${why}`, reply?.status, reply?.link)
        if (this.#sessions.get(key) === session) this.#sessions.delete(key)
      },
    })
    session = new HeldSession(channel)
    if (ended !== undefined) session.end(`process-ended: ${ended}`)
    else this.#sessions.set(key, session)
    return session
  }

  /** Returns the session as is, or begins it again with the client's `initialize` parameters. */
  #resume(key: string, { initialize }: ServerSession, exchange: Exchange): HeldSession | undefined {
    const known = this.#sessions.get(key)
    if (known !== undefined && !known.isOver) return known
    if (key === '' || initialize === undefined) return undefined
    const session = this.#open(key, exchange)
    if (session === undefined) return undefined
    const request = {
      kind: 'request',
      method: 'initialize',
      id: '"portcullis-resume"',
      text: `{"jsonrpc":"2.0","id":"portcullis-resume","method":"initialize","params":${initialize}}`,
      name: undefined,
      version: undefined,
      session: { key, id: key, initialize },
    } as const
    const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    const received = () => {
      session.release(initialized, exchange)
      return true
    }
    session.send(request, exchange, { ...IGNORE_EVENTS, received }, undefined)
    // Later messages wait until the server knows the client.
    session.hold()
    return session
  }

  #closeIdle(): void {
    const limit = Date.now() - this.#options.sessionTtl
    for (const [key, session] of this.#sessions) {
      if (session.isBusy || session.lastUsed > limit) continue
      session.close()
      this.#sessions.delete(key)
    }
  }

  #closeOldest(): void {
    let oldest: [string, HeldSession] | undefined
    for (const entry of this.#sessions) {
      if (entry[1].isBusy) continue
      if (oldest === undefined || entry[1].lastUsed < oldest[1].lastUsed) oldest = entry
    }
    if (oldest === undefined) return
    oldest[1].close()
    this.#sessions.delete(oldest[0])
  }
}

const IGNORE_EVENTS: ServerEvents = { began() {}, received: () => true, ended() {}, failed() {} }

/** A channel belongs to a session: clients of a revision without sessions must use another one. */
function unsupportedVersion({ id, version = '' }: SentMessage): ServerFailure {
  const body = errorText(id, {
    code: CODES.unsupportedVersion,
    message: 'Unsupported protocol version',
    data: { supported: HANDSHAKE_REVISIONS, requested: version },
  })
  return { status: 400, reason: 'unsupported-version', body, contentType: 'application/json' }
}
