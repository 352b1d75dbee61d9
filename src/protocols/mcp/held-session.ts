import type { Exchange } from '../../exchange/exchange.ts'
import type { EventBlock } from './event-blocks.ts'
import { idKey, readServerMessage, type ServerMessage } from './message.ts'
import {
  failureBy,
  NOT_SENDING,
  type Sending,
  type SentMessage,
  type ServerEvents,
} from './server.ts'

/** A connection to a server with one channel for a whole session. */
export interface Channel {
  /** Returns false if nothing more can be sent. `exchange` is the request that causes it. */
  write(text: string, exchange: Exchange): boolean
  close(): void
}

interface Pending {
  /** As the client wrote it. */
  readonly id: string
  readonly events: ServerEvents
  readonly token: string | undefined
  readonly exchange: Exchange
  isStream: boolean
}

const EVENT: EventBlock = { data: '', id: undefined, others: ['event: message'] }

/**
 * One session over a channel. Responses, and progress, go to the sender of the request; everything
 * else goes to the newest pending request, or to a listener.
 */
export class HeldSession {
  lastUsed = Date.now()
  /** Who began it. */
  readonly owner: string
  /** Handles every message of the server that is not a response, instead of its receiver. */
  intercept: ((message: ServerMessage) => void) | undefined
  /** Called once, when the channel is gone. */
  onEnd: (() => void) | undefined
  readonly #channel: Channel
  /** By the ID of the request (`idKey`). */
  readonly #pending = new Map<string, Pending>()
  readonly #listeners = new Set<ServerEvents>()
  /** Messages that wait until the session has begun again; undefined if none have to wait. */
  #waiting: (readonly [text: string, exchange: Exchange])[] | undefined
  /** The newest messages that had no receiver. */
  #undelivered: string[] = []
  #isOver = false

  constructor(channel: Channel, owner = '') {
    this.#channel = channel
    this.owner = owner
  }

  get isOver(): boolean {
    return this.#isOver
  }

  get isBusy(): boolean {
    return this.#pending.size + this.#listeners.size > 0
  }

  /** From now on, messages wait for `release`. */
  hold(): void {
    this.#waiting ??= []
  }

  /** Sends this message, and then those that waited. */
  release(first: string, whose: Exchange): void {
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    this.#channel.write(first, whose)
    for (const [text, exchange] of waiting) this.#channel.write(text, exchange)
  }

  #write(text: string, exchange: Exchange): boolean {
    if (this.#waiting === undefined) return this.#channel.write(text, exchange)
    return this.#waiting.push([text, exchange]) <= MAX_WAITING
  }

  send(
    message: SentMessage,
    exchange: Exchange,
    events: ServerEvents,
    session: string | undefined,
  ): Sending {
    this.lastUsed = Date.now()
    const { id, kind } = message
    const key = idKey(id)
    // IDs of the server's requests, to which clients respond, are numbered separately.
    const isTaken = kind === 'request' && this.#pending.has(key)
    const isSent = !this.#isOver && !isTaken
    if (!isSent || !this.#write(message.text, exchange)) {
      events.failed({ status: 502, reason: this.#isOver ? 'process-ended' : 'not-writable' })
      return NOT_SENDING
    }
    if (kind !== 'request') {
      events.began('accepted', session)
      events.ended()
      return NOT_SENDING
    }
    const pending = { id, events, token: tokenOf(message.text), exchange, isStream: false }
    this.#pending.set(key, pending)
    return {
      stop: () => {
        if (this.#pending.get(key) === pending) this.#cancel(key, pending)
      },
      resume() {},
    }
  }

  /** No client waits for the response: the server is notified, and later messages are dropped. */
  #cancel(key: string, { id, exchange }: Pending): void {
    this.#pending.delete(key)
    const params = `{"requestId":${id},"reason":"The client disconnected."}`
    const text = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`
    this.#write(text, exchange)
  }

  listen(events: ServerEvents): Sending {
    this.#listeners.add(events)
    events.began('stream', undefined)
    for (const text of this.#undelivered.splice(0)) events.received({ text, block: EVENT })
    return { stop: () => void this.#listeners.delete(events), resume() {} }
  }

  /** Handles a message of the server. */
  receive(text: string): void {
    this.lastUsed = Date.now()
    const message = readServerMessage(text)
    try {
      if (message.kind === 'response') this.#respond(message)
      else if (message.kind === 'unknown') return
      else if (this.intercept !== undefined) this.intercept(message)
      else this.#dispatch(message)
    } catch {
      // A message that cannot be forwarded ends the session: later ones could depend on it.
      this.close()
    }
  }

  #respond({ id = 'null', text }: ServerMessage): void {
    const key = idKey(id)
    const pending = this.#pending.get(key)
    if (pending === undefined) return
    this.#pending.delete(key)
    const { events, isStream } = pending
    guarded(events, () => {
      if (!isStream) events.began('message', undefined)
      events.received({ text, block: isStream ? EVENT : undefined })
      events.ended()
    })
  }

  #dispatch(message: ServerMessage): void {
    const { text } = message
    const pending = this.#receiverOf(message)
    if (pending !== undefined) {
      if (!pending.isStream) pending.events.began('stream', undefined)
      pending.isStream = true
      pending.events.received({ text, block: EVENT })
      return
    }
    const [listener] = this.#listeners
    if (listener !== undefined) listener.received({ text, block: EVENT })
    else if (this.#undelivered.push(text) > MAX_UNDELIVERED) this.#undelivered.shift()
  }

  #receiverOf({ method, members }: ServerMessage): Pending | undefined {
    const all = [...this.#pending.values()]
    if (method === 'notifications/progress') {
      const { progressToken } = JSON.parse(members.get('params') ?? '{}') as ProgressParams
      return all.find(({ token }) => token === JSON.stringify(progressToken))
    }
    const isGeneral =
      method.endsWith('/list_changed') || method === 'notifications/resources/updated'
    return isGeneral && this.#listeners.size > 0 ? undefined : all.at(-1)
  }

  /** Called when the channel is gone. */
  end(reason: string, status = 502, link?: string): void {
    if (this.#isOver) return
    this.#isOver = true
    const failure = { status, reason, ...(link === undefined ? {} : { link }) }
    for (const { events } of this.#pending.values()) events.failed(failure)
    for (const events of this.#listeners) events.ended()
    this.#pending.clear()
    this.#listeners.clear()
    this.onEnd?.()
  }

  close(): void {
    this.#channel.close()
    this.end('session-ended')
  }
}

/** Reports a failure to the receiver of a message that cannot be forwarded. */
function guarded(events: ServerEvents, work: () => void): void {
  try {
    work()
  } catch (error) {
    events.failed(failureBy(error))
    throw error
  }
}

const MAX_UNDELIVERED = 64
const MAX_WAITING = 64

interface ProgressParams {
  readonly progressToken?: unknown
}

function tokenOf(text: string): string | undefined {
  const { params } = JSON.parse(text) as { params?: { _meta?: ProgressParams } }
  return JSON.stringify(params?._meta?.progressToken)
}
