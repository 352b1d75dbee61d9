import type { Header } from '../../exchange/header-edit.ts'
import { type Reply, reply } from '../../exchange/reply.ts'
import { CODES, errorReply } from './errors.ts'
import { listenToAll } from './listen.ts'
import { isObject } from './message.ts'
import { recording } from './recording.ts'
import { ACCEPTED } from './relay.ts'
import { attributesOf } from './sent.ts'
import type { McpResponder, Serving } from './serving.ts'
import { newSessionKey, openSession } from './session.ts'
import { endAtServers } from './session-end.ts'
import { isOfOldTransport, streamOf } from './well-formed.ts'

/*
 * The transport of 2024-11-05, for clients: a stream of events, the first of which has the URL that
 * the client sends its messages to. Responses are sent over the stream.
 */

const PURPOSE = 'mcp-stream'
/** The max unread bytes of a client that does not read; then its stream is cut off. */
const MAX_UNREAD = 64 * 1024 * 1024

export function isLegacy<P>({ exchange, session }: Serving<P>): boolean {
  return session === undefined && isOfOldTransport(exchange.request)
}

/** GET: opens the stream. */
export function openStream<P>(serving: Serving<P>): void {
  const { plan, exchange, responder, caller, sendings } = serving
  serving.record.transport = 'sse'
  const permit = plan.rules.admit(exchange, attributesOf(serving, 'session/listen'))
  if (permit === undefined) {
    responder.reply(reply(403, 'authorization'))
    return
  }
  const key = newSessionKey()
  const id = plan.seal.seal(PURPOSE, { k: key, b: plan.name, c: caller })
  let unread = 0
  const write = (text: string) => {
    unread += text.length
    if (responder.write(text)) unread = 0
    else if (unread > MAX_UNREAD) responder.abort('slow-reader')
  }
  let session = ''
  const close = plan.streams.open(key, {
    write,
    began: (own) => {
      session = own
      listen(serving, session, write)
    },
  })
  sendings.add({
    stop() {
      close()
      endSession(serving, session, permit)
    },
    resume() {
      unread = 0
    },
  })
  responder.open([])
  write(`event: endpoint\ndata: ${exchange.request.path}?sessionId=${id}\n\n`)
}

/** Forwards messages that servers send on their own. */
function listen<P>(serving: Serving<P>, id: string, write: (text: string) => void): void {
  const { plan, caller } = serving
  const session = id === '' ? undefined : openSession(plan.seal, id, plan.name, caller)
  if (session === undefined) return
  const quiet = () => {}
  const responder: McpResponder = {
    ...{ reply: quiet, open: quiet, end: quiet, abort: quiet },
    write(text) {
      write(text)
      return true
    },
    broke: (error) => serving.responder.broke(error),
  }
  listenToAll({ ...serving, responder, session })
}

function endSession<P>(serving: Serving<P>, id: string, permit: P): void {
  const { plan, responder, caller } = serving
  const session = id === '' ? undefined : openSession(plan.seal, id, plan.name, caller)
  if (session === undefined) return
  endAtServers(serving, session, permit).catch((error: unknown) => responder.broke(error))
}

/**
 * POST: a message. It is served like any other, and its response goes to the stream; the request
 * itself ends when the message has been served, so that it is cancelled when the client
 * disconnects.
 */
export function postToStream<P>(
  serving: Serving<P>,
  serve: (serving: Serving<P>) => void,
  isHandshake: () => boolean,
): void {
  const { plan, exchange, responder, caller, sendings, record } = serving
  record.transport = 'sse'
  const opened = plan.seal.open(PURPOSE, streamOf(exchange.request.search) ?? '')
  if (!isObject(opened) || opened.b !== plan.name || opened.c !== caller) {
    const error = { code: CODES.sessionNotFound, message: 'Session not found' }
    record.session = 'refused'
    responder.reply(errorReply(404, 'null', error))
    return
  }
  const key = String(opened.k)
  const go = (id: string | undefined) => {
    const session = id ? openSession(plan.seal, id, plan.name, caller) : undefined
    const stream = new StreamResponder(serving, key, isHandshake())
    serve({ ...serving, session, responder: recording(record, stream) })
  }
  const known = isHandshake() ? '' : plan.streams.sessionOf(key)
  if (!(known instanceof Promise)) go(known)
  else {
    known
      .then((id) => {
        if (!sendings.isStopped) go(id)
      })
      .catch((error: unknown) => responder.broke(error))
  }
}

/** Sends the response to a message over the stream. */
class StreamResponder<P> implements McpResponder {
  readonly #serving: Serving<P>
  readonly #key: string
  readonly #isHandshake: boolean

  constructor(serving: Serving<P>, key: string, isHandshake: boolean) {
    this.#serving = serving
    this.#key = key
    this.#isHandshake = isHandshake
  }

  reply(own: Reply): void {
    const { plan, responder } = this.#serving
    if (own.status !== 200) {
      responder.reply(own)
      return
    }
    this.#begin(own.headers.added)
    const text = String(own.body)
    const lines = text.split(/\r?\n/).map((line) => `data: ${line}\n`)
    plan.streams.deliver(this.#key, `event: message\n${lines.join('')}\n`)
    responder.reply(ACCEPTED)
  }

  open(headers: readonly Header[]): void {
    this.#begin(headers)
  }

  write(text: string): boolean {
    this.#serving.plan.streams.deliver(this.#key, text)
    return true
  }

  end(): void {
    this.#serving.responder.reply(ACCEPTED)
  }

  abort(reason: string): void {
    const own = errorReply(502, 'null', { code: CODES.internal, message: 'The server failed.' })
    this.#serving.responder.reply({ ...own, detail: reason })
  }

  broke(error: unknown): void {
    this.#serving.responder.broke(error)
  }

  /** Called before the response: the client's next message may follow it at once. */
  #begin(headers: readonly Header[]): void {
    if (!this.#isHandshake) return
    const id = headers.find(([name]) => name === 'mcp-session-id')?.[1] ?? ''
    this.#serving.plan.streams.begin(this.#key, id)
  }
}
