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

/** The way to a server that has one channel for all that is said in a session. */
export interface Channel {
  /** False: nothing more can be sent. `exchange`: the request on whose behalf. */
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
 * One session over a channel. Responses go to whoever sent the request, progress with them;
 * everything else goes to the newest request that is under way, or to whoever listens.
 */
export class HeldSession {
  lastUsed = Date.now()
  readonly #channel: Channel
  /** By the id of the request (`idKey`). */
  readonly #pending = new Map<string, Pending>()
  readonly #listeners = new Set<ServerEvents>()
  /** What waits until the session has begun anew; undefined: nothing has to wait. */
  #waiting: (readonly [text: string, exchange: Exchange])[] | undefined
  /** Messages that nobody could be told; the newest of them. */
  #unheard: string[] = []
  #isOver = false

  constructor(channel: Channel) {
    this.#channel = channel
  }

  get isOver(): boolean {
    return this.#isOver
  }

  get isBusy(): boolean {
    return this.#pending.size + this.#listeners.size > 0
  }

  /** From here on messages wait for `release`. */
  hold(): void {
    this.#waiting ??= []
  }

  /** Goes on with this message, and then with those that waited. */
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
    // Ids of requests of the server, which clients respond to, are numbered by themselves.
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

  /** Nobody waits for the response: the server is told, and what it still says goes nowhere. */
  #cancel(key: string, { id, exchange }: Pending): void {
    this.#pending.delete(key)
    const params = `{"requestId":${id},"reason":"The client disconnected."}`
    const text = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`
    this.#write(text, exchange)
  }

  listen(events: ServerEvents): Sending {
    this.#listeners.add(events)
    events.began('stream', undefined)
    for (const text of this.#unheard.splice(0)) events.received({ text, block: EVENT })
    return { stop: () => void this.#listeners.delete(events), resume() {} }
  }

  /** A message of the server. */
  receive(text: string): void {
    this.lastUsed = Date.now()
    const message = readServerMessage(text)
    try {
      if (message.kind === 'response') this.#respond(message)
      else if (message.kind !== 'unknown') this.#tell(message)
    } catch {
      // A message that cannot be passed on ends the session: what follows could rest on it.
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

  #tell(message: ServerMessage): void {
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
    else if (this.#unheard.push(text) > MAX_UNHEARD) this.#unheard.shift()
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

  /** The channel is gone. */
  end(reason: string, status = 502, link?: string): void {
    if (this.#isOver) return
    this.#isOver = true
    const failure = { status, reason, ...(link === undefined ? {} : { link }) }
    for (const { events } of this.#pending.values()) events.failed(failure)
    for (const events of this.#listeners) events.ended()
    this.#pending.clear()
    this.#listeners.clear()
  }

  close(): void {
    this.#channel.close()
    this.end('session-ended')
  }
}

/** Whoever waits for a message that cannot be passed on hears of it. */
function guarded(events: ServerEvents, work: () => void): void {
  try {
    work()
  } catch (error) {
    events.failed(failureBy(error))
    throw error
  }
}

const MAX_UNHEARD = 64
const MAX_WAITING = 64

interface ProgressParams {
  readonly progressToken?: unknown
}

function tokenOf(text: string): string | undefined {
  const { params } = JSON.parse(text) as { params?: { _meta?: ProgressParams } }
  return JSON.stringify(params?._meta?.progressToken)
}
