import { McpRecord } from '../../exchange/mcp-record.ts'
import type { Reply } from '../../exchange/reply.ts'
import { consentForm } from './consent.ts'
import { CODES, errorText, jsonReply } from './errors.ts'
import { writeBlock } from './event-blocks.ts'
import { type ClientMessage, idKey, readServerMessage } from './message.ts'
import { recording } from './recording.ts'
import { ACCEPTED } from './relay.ts'
import { envelopeOf } from './sent.ts'
import type { McpResponder, Serving } from './serving.ts'

/**
 * Serves several messages of one request, each as if it had been sent alone. `mode`: responses are
 * written one by one to a stream that is already open, as clients of the old transport expect.
 */
export function serveBatch<P>(
  serving: Serving<P>,
  messages: readonly ClientMessage[],
  serve: (serving: Serving<P>, message: ClientMessage) => void,
  mode?: 'stream',
): void {
  const responses = new BatchResponse(serving.responder, mode === 'stream')
  const records = messages.map(() => new McpRecord())
  serving.record.batch = records
  // In sequence: the attributes that rules read of a message are in the exchange that all share.
  const next = (at: number): void => {
    const message = messages[at]
    if (serving.sendings.isStopped) return
    if (message === undefined) {
      responses.end()
      return
    }
    const record = records[at] as McpRecord
    if (message.kind === 'request') record.method = message.method
    const responder = recording(
      record,
      responses.of(message, () => next(at + 1)),
    )
    const consent = consentForm(message, serving.session)
    serve({ ...serving, record, responder, meta: envelopeOf(message), consent }, message)
  }
  next(0)
}

/** Collects the responses in a list, or in one stream as soon as a server begins one. */
class BatchResponse {
  readonly #responder: McpResponder
  readonly #texts: string[] = []
  #isStream: boolean
  /** True once anything has been sent for one of the messages. */
  #hasResponded = false
  /** The failure of a notification or a response, for which a list has no place. */
  #failure: Reply | undefined

  constructor(responder: McpResponder, isStream: boolean) {
    this.#responder = responder
    this.#isStream = isStream
  }

  of({ kind, id }: ClientMessage, next: () => void): McpResponder {
    const client = this.#responder
    let isDone = false
    const done = (work: () => void) => {
      if (isDone) return
      isDone = true
      work()
    }
    return {
      reply: (reply) =>
        done(() => {
          if (this.#isForAll(reply)) {
            client.reply(reply)
            return
          }
          if (kind === 'request') this.#add(textOf(reply, id))
          else if (reply.status >= 400) this.#failure ??= reply
          next()
        }),
      open: (headers) => {
        if (isDone || this.#isStream) return
        this.#isStream = true
        this.#hasResponded = true
        client.open(headers)
        for (const text of this.#texts) client.write(eventOf(text))
      },
      write: (text) => {
        this.#hasResponded = true
        return isDone || client.write(text)
      },
      end: () => done(next),
      abort: (reason) => done(() => client.abort(reason)),
      broke: (error) => done(() => client.broke(error)),
    }
  }

  end(): void {
    const client = this.#responder
    if (this.#isStream && this.#failure !== undefined && !this.#hasResponded) {
      client.reply(this.#failure)
    } else if (this.#isStream) client.end()
    else if (this.#texts.length > 0) {
      client.reply(jsonReply(200, `[${this.#texts.join(',')}]`, 'upstream'))
    } else client.reply(this.#failure ?? ACCEPTED)
  }

  /** A client that must authenticate, or begin a new session, learns it from the status. */
  #isForAll({ status }: Reply): boolean {
    return (status === 401 || status === 404) && !this.#hasResponded
  }

  #add(text: string): void {
    this.#hasResponded = true
    if (this.#isStream) this.#responder.write(eventOf(text))
    else this.#texts.push(text)
  }
}

function eventOf(text: string): string {
  return writeBlock({ others: ['event: message'], id: undefined, data: text })
}

/** Returns the response to a request; converts a failure that does not name the request. */
function textOf({ status, body, contentType = '' }: Reply, id: string): string {
  const text = typeof body === 'string' && contentType === 'application/json' ? body : ''
  const { members } = readServerMessage(text)
  const isMessage = members.get('jsonrpc') === '"2.0"'
  const [own, error] = isMessage ? [members.get('id'), members.get('error')] : []
  if (own !== undefined && idKey(own) === idKey(id)) return text
  if (error !== undefined) return `{"jsonrpc":"2.0","id":${id},"error":${error}}`
  const isOurs = status < 400 || status >= 500
  const message = isOurs ? 'The server failed.' : 'The gateway denied the request.'
  return errorText(id, { code: isOurs ? CODES.internal : CODES.invalidRequest, message })
}
