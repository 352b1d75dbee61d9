import { setTimeout as pause } from 'node:timers/promises'
import type { EndedSessions } from '../../exchange/ended-sessions.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import type { Reply } from '../../exchange/reply.ts'
import { ownerOf } from '../caller.ts'
import { type Channel, HeldSession } from './held-session.ts'
import { LaterChannel } from './later-channel.ts'
import type { Places } from './places.ts'
import { HANDSHAKE_REVISIONS, isModern } from './revisions.ts'
import {
  type McpServer,
  NOT_SENDING,
  type Sending,
  type SentMessage,
  type ServerEvents,
  type ServerSession,
  type StreamResume,
} from './server.ts'
import { newSessionKey } from './session.ts'
import { StatelessSessions } from './stateless/sessions.ts'

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
  /** The max channels of this process at once; each session has one. */
  readonly maxSessions: number
  /** Limits for the channels of all processes, if there are any. */
  readonly places?: Places
  readonly ended: EndedSessions
  readonly openChannel: OpenChannel
  /** Requests without a session, of clients with the same scope, may use the same channel. */
  readonly scopeOf?: (exchange: Exchange) => string
}

/** A channel that ends right away is not reopened earlier than this, in milliseconds. */
const MIN_LIFE = 1_000
/** The max channels that wait for that. */
const MAX_DELAYED = 16
/** How long a new channel waits for the place of an unused one, in milliseconds. */
const MAX_WAIT = 5_000
const PLACE_INTERVAL = 50
/** How often channels without a session are looked for, in milliseconds. */
const SWEEP = 2_000
const UNREF = { ref: false }

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
  readonly #stateless: StatelessSessions
  #openChannel: OpenChannel
  #delayed = 0
  #failedAt = Number.NEGATIVE_INFINITY

  constructor(options: HeldServerOptions) {
    this.name = options.name
    this.#options = options
    this.#openChannel = options.openChannel
    this.#stateless = new StatelessSessions({
      open: (exchange) => this.#open(newSessionKey(), exchange),
      scopeOf: options.scopeOf ?? ownerOf,
    })
    const interval = Math.max(1_000, Math.min(options.sessionTtl / 2, SWEEP))
    this.#timer = setInterval(() => this.#closeIdle(), interval)
    this.#timer.unref()
  }

  /** The number of open channels. */
  get channels(): number {
    return this.#options.places?.taken ?? this.#sessions.size
  }

  /** New channels are opened according to the newest configuration. */
  update(openChannel: OpenChannel): void {
    this.#openChannel = openChannel
  }

  send(_: P, exchange: Exchange, message: SentMessage, events: ServerEvents): Sending {
    if (isStateless(message)) return this.#stateless.send(exchange, message, events)
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

  end(_: P, __: Exchange, { id = '' }: ServerSession): Promise<boolean> {
    const session = this.#sessions.get(id)
    if (session !== undefined) this.#close(id, session)
    return Promise.resolve(true)
  }

  close(): void {
    clearInterval(this.#timer)
    for (const session of this.#sessions.values()) session.close()
    this.#sessions.clear()
  }

  /** Messages wait until the channel is open. */
  #open(key: string, exchange: Exchange): HeldSession | undefined {
    const { maxSessions } = this.#options
    if (this.#sessions.size >= maxSessions) this.#closeOldest()
    if (this.#sessions.size >= maxSessions) return undefined
    const channel = new LaterChannel()
    const session = new HeldSession(channel, ownerOf(exchange))
    this.#sessions.set(key, session)
    const start = (rejected: string | undefined) => {
      if (rejected === undefined) this.#start(key, session, channel, exchange)
      else this.#over(key, session, rejected, 503)
    }
    const admitted = this.#admit(session)
    if (!(admitted instanceof Promise)) start(admitted)
    else {
      admitted.then(start).catch((error: unknown) => this.#over(key, session, String(error), 500))
    }
    return session
  }

  /** Returns why no channel can be opened; undefined if there is a place for it. */
  #admit(session: HeldSession): string | undefined | Promise<string | undefined> {
    const wait = this.#failedAt + MIN_LIFE - performance.now()
    return wait > 0 ? this.#admitLater(wait, session) : this.#takePlace(session)
  }

  async #admitLater(wait: number, session: HeldSession): Promise<string | undefined> {
    if (this.#delayed >= MAX_DELAYED) return 'no-process'
    this.#delayed++
    await pause(wait, undefined, UNREF)
    this.#delayed--
    return session.isOver ? 'session-ended' : this.#takePlace(session)
  }

  #takePlace(session: HeldSession): string | undefined | Promise<string | undefined> {
    const { places } = this.#options
    const taken = places?.take(session.owner)
    return taken === undefined || places === undefined
      ? undefined
      : this.#waitForPlace(places, session, taken)
  }

  /** If all places are taken, an unused channel is closed. */
  async #waitForPlace(
    places: Places,
    session: HeldSession,
    first: ReturnType<Places['take']>,
  ): Promise<string | undefined> {
    const latest = performance.now() + MAX_WAIT
    let hasClosed = false
    for (let full = await first; full !== undefined; full = await places.take(session.owner)) {
      hasClosed ||= this.#closeOldest(session, full === 'caller')
      const isLate = performance.now() > latest
      if (!hasClosed || isLate || session.isOver) return `too-many-processes: ${full}`
      await pause(PLACE_INTERVAL, undefined, UNREF)
    }
    return undefined
  }

  #start(key: string, session: HeldSession, channel: LaterChannel, exchange: Exchange): void {
    const { places } = this.#options
    const { owner } = session
    const startedAt = performance.now()
    let isOpen = true
    const ended = (why: string, reply?: Reply) => {
      if (isOpen) places?.give(owner)
      isOpen = false
      const isEarly = performance.now() - startedAt < MIN_LIFE && !session.isOver
      // A problem with one client is no reason to make others wait.
      if (isEarly && reply === undefined) this.#failedAt = startedAt
      this.#over(key, session, `process-ended: ${why}`, reply?.status, reply?.link)
    }
    if (session.isOver) {
      ended('session-ended')
      return
    }
    try {
      const message = (text: string) => session.receive(text)
      channel.open(this.#openChannel(exchange, { message, ended }))
    } catch (error) {
      ended(String(error))
    }
  }

  #over(key: string, session: HeldSession, why: string, status?: number, link?: string): void {
    session.end(why, status, link)
    if (this.#sessions.get(key) === session) this.#sessions.delete(key)
  }

  /** Returns the session as is, or begins it again with the client's `initialize` parameters. */
  #resume(key: string, { initialize }: ServerSession, exchange: Exchange): HeldSession | undefined {
    const known = this.#sessions.get(key)
    if (known !== undefined && !known.isOver) return known
    if (key === '' || initialize === undefined || this.#options.ended.has(key)) return undefined
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

  #close(key: string, session: HeldSession): void {
    session.close()
    this.#sessions.delete(key)
  }

  /** Also closes those whose session ended at another process. */
  #closeIdle(): void {
    const limit = Date.now() - this.#options.sessionTtl
    for (const [key, session] of this.#sessions) {
      const isUnused = !session.isBusy && session.lastUsed <= limit
      if (isUnused || this.#options.ended.has(key)) this.#close(key, session)
    }
  }

  /** Returns false if all are in use. `isOwn`: only those of the same owner. */
  #closeOldest(instead?: HeldSession, isOwn = false): boolean {
    let oldest: readonly [string, HeldSession] | undefined
    for (const [key, session] of this.#sessions) {
      if (session.isBusy || session === instead) continue
      if (isOwn && session.owner !== instead?.owner) continue
      if (oldest === undefined || oldest[1].lastUsed > session.lastUsed) oldest = [key, session]
    }
    if (oldest !== undefined) this.#close(...oldest)
    return oldest !== undefined
  }
}

/** True without a session, in a revision that has none or is unknown. */
function isStateless({ version, session, method }: SentMessage): boolean {
  if (version === undefined || method === 'initialize') return false
  return isModern(version) || (session.id === undefined && !HANDSHAKE_REVISIONS.includes(version))
}

const IGNORE_EVENTS: ServerEvents = { began() {}, received: () => true, ended() {}, failed() {} }
