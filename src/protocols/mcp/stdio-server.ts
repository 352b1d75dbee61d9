import type { Exchange } from '../../exchange/exchange.ts'
import { CODES, errorText } from './errors.ts'
import { HeldSession } from './held-session.ts'
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
import { type StdioOptions, StdioProcess } from './stdio-process.ts'

export interface StdioServerOptions {
  readonly name: string
  readonly stdio: StdioOptions
  /** Milliseconds that an unused process is kept. */
  readonly sessionTtl: number
}

/** Processes of one server at once; each session has one. */
const MAX_PROCESSES = 256
/** A program that ends right away is not started again sooner than this, in milliseconds. */
const MIN_LIFE = 1_000

/**
 * A program that is started for each session. What a session needs to begin anew is in its id, so
 * that a process which ended, or which runs in another worker, is replaced when it is used again.
 */
export class StdioMcpServer<P> implements McpServer<P> {
  readonly name: string
  readonly #options: StdioServerOptions
  readonly #sessions = new Map<string, HeldSession>()
  readonly #timer: NodeJS.Timeout
  #failedAt = Number.NEGATIVE_INFINITY

  constructor(options: StdioServerOptions) {
    this.name = options.name
    this.#options = options
    const interval = Math.max(1_000, Math.min(options.sessionTtl / 2, 30_000))
    this.#timer = setInterval(() => this.#closeIdle(), interval)
    this.#timer.unref()
  }

  send(_: P, __: Exchange, message: SentMessage, events: ServerEvents): Sending {
    if (isModern(message.version)) {
      events.failed(unsupportedVersion(message))
      return NOT_SENDING
    }
    const isHandshake = message.method === 'initialize'
    const key = isHandshake ? newSessionKey() : (message.session.id ?? '')
    const session = isHandshake ? this.#open(key) : this.#resume(key, message.session)
    if (session === undefined) {
      events.failed({ status: key === '' ? 400 : 503, reason: 'no-process' })
      return NOT_SENDING
    }
    if (!isHandshake) return session.send(message, events, undefined)
    const named: ServerEvents = {
      began: (form) => events.began(form, key),
      received: (received) => events.received(received),
      ended: () => events.ended(),
      failed: (failure) => events.failed(failure),
    }
    return session.send(message, named, key)
  }

  listen(
    _: P,
    __: Exchange,
    session: ServerSession,
    ___: StreamResume,
    events: ServerEvents,
  ): Sending {
    const held = this.#resume(session.id ?? '', session)
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

  #open(key: string): HeldSession | undefined {
    const now = performance.now()
    if (this.#sessions.size >= MAX_PROCESSES) this.#closeOldest()
    if (this.#sessions.size >= MAX_PROCESSES || now - this.#failedAt < MIN_LIFE) return undefined
    const process = new StdioProcess(this.#options.stdio, {
      line: (text) => session.receive(text),
      exited: (why) => {
        if (performance.now() - now < MIN_LIFE && !session.isOver) this.#failedAt = now
        session.end(`process-ended: ${why}`)
        if (this.#sessions.get(key) === session) this.#sessions.delete(key)
      },
    })
    const session = new HeldSession(process)
    this.#sessions.set(key, session)
    return session
  }

  /** The session as it is, or begun anew with what its client said of itself. */
  #resume(key: string, { initialize }: ServerSession): HeldSession | undefined {
    const known = this.#sessions.get(key)
    if (known !== undefined && !known.isOver) return known
    if (key === '' || initialize === undefined) return undefined
    const session = this.#open(key)
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
    session.send(request, NOBODY, undefined)
    const initialized = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    const told = { ...request, kind: 'notification', id: 'null', text: initialized } as const
    session.send(told, NOBODY, undefined)
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

const NOBODY: ServerEvents = { began() {}, received: () => true, ended() {}, failed() {} }

/** A process belongs to a session: clients that can do without one are told to begin one. */
function unsupportedVersion({ id, version = '' }: SentMessage): ServerFailure {
  const body = errorText(id, {
    code: CODES.unsupportedVersion,
    message: 'Unsupported protocol version',
    data: { supported: HANDSHAKE_REVISIONS, requested: version },
  })
  return { status: 400, reason: 'unsupported-version', body, contentType: 'application/json' }
}
