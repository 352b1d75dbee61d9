import type { Header } from '../../exchange/header-edit.ts'
import { NO_EDIT } from '../../exchange/header-edit.ts'
import type { Reply } from '../../exchange/reply.ts'
import { consentReply } from './consent.ts'
import { CODES, errorReply, jsonReply } from './errors.ts'
import { type EventBlock, writeBlock } from './event-blocks.ts'
import { isForeignResult } from './foreign-response.ts'
import { InOrder } from './in-order.ts'
import type { Received, ServerEvents, ServerFailure } from './server.ts'
import type { Serving } from './serving.ts'

export interface RelayOptions {
  /** As the client wrote it; `null` if it is not a request. */
  readonly id: string
  readonly server: number
  /** Rewrites a server's message for the client; if undefined, messages are unchanged. */
  readonly change: ((text: string) => Changed) | undefined
  /** A resumed stream may have results of any request: `change` looks for them. */
  readonly isResumed?: boolean
  /** Returns the headers of the response once the server has named a session. */
  readonly headers?: (session: string | undefined) => readonly Header[]
}

/** A message for the client, or the steps that create it if it is long. */
export type Changed = string | Generator<void, string>

/** Relays one server's response to the client. */
export class Relay<P> implements ServerEvents {
  readonly #serving: Serving<P>
  readonly #options: RelayOptions
  readonly #order: InOrder<P>
  #headers: readonly Header[] = []
  #isStream = false
  #hasResponse = false

  constructor(serving: Serving<P>, options: RelayOptions) {
    this.#serving = serving
    this.#options = options
    this.#order = new InOrder(serving)
  }

  began(form: 'message' | 'stream' | 'accepted', session: string | undefined): void {
    const { responder } = this.#serving
    this.#headers = this.#options.headers?.(session) ?? []
    this.#isStream = form === 'stream'
    if (form === 'stream') responder.open(this.#headers)
    if (form === 'accepted') {
      this.#hasResponse = true
      responder.reply(ACCEPTED)
    }
  }

  received(received: Received): boolean {
    let isReady = false
    this.#order.run(() => {
      isReady = this.#receive(received)
    })
    return isReady
  }

  #receive({ text, block }: Received): boolean {
    const { change, id, isResumed = false } = this.#options
    const isChecked = distrusts(this.#serving) && !isResumed && text !== undefined
    // If the response is not streamed, nothing else follows: its request fails.
    if (isChecked && isForeignResult(text, id)) return true
    const own = text === undefined || change === undefined ? text : change(text)
    if (typeof own !== 'object') return this.#write(own, block)
    this.#order.after(own, (changed) => void this.#write(changed, block))
    return false
  }

  #write(text: string | undefined, block: EventBlock | undefined): boolean {
    const { responder, plan } = this.#serving
    if (!this.#isStream) {
      this.#hasResponse = true
      responder.reply(jsonReply(200, text ?? '', 'upstream', this.#headers))
      return true
    }
    if (block === undefined) return true
    const { server } = this.#options
    return responder.write(writeBlock(eventFor(block, text, plan.servers.length, server)))
  }

  ended(): void {
    this.#order.run(() => {
      const { responder } = this.#serving
      if (this.#isStream) responder.end()
      else if (!this.#hasResponse) this.failed({ status: 502, reason: 'no-response' })
    })
  }

  failed(failure: ServerFailure): void {
    const { responder } = this.#serving
    // Not in order: an earlier event may be the one that threw.
    if ('error' in failure) {
      responder.broke(failure.error)
      return
    }
    this.#order.run(() => {
      if (this.#isStream) responder.abort(failure.reason)
      else responder.reply(this.#replyTo(failure))
    })
  }

  broke(error: unknown): void {
    this.#serving.responder.broke(error)
  }

  #replyTo(failure: ServerFailure): Reply {
    const { plan, consent } = this.#serving
    const { id, server } = this.#options
    if (failure.link === undefined) return failureReply(id, failure)
    return consentReply(id, consent, plan.servers[server]?.name ?? '', failure.link)
  }
}

/** True if rules or pins restrict what clients see, or one server could respond for another. */
function distrusts<P>({ plan }: Serving<P>): boolean {
  return plan.rules.isGuarded || plan.servers.length > 1
}

export const ACCEPTED = {
  status: 202,
  reason: 'upstream',
  body: '',
  contentType: '',
  headers: NO_EDIT,
} as const

/** An event ID belongs to one server and must lead back to it. */
export function eventFor(
  block: EventBlock,
  data: string | undefined,
  servers: number,
  server: number,
): EventBlock {
  const id = block.id === undefined || servers === 1 ? block.id : `${server}:${block.id}`
  return { others: block.others, id, data: data ?? block.data }
}

/** Returns the server's own error response if it sent one, otherwise the reason for the failure. */
export function failureReply(id: string, failure: ServerFailure) {
  const { status, reason, body = '', contentType = '', headers = [] } = failure
  if (body !== '' && contentType !== '') {
    const own = jsonReply(status, body, 'upstream', headers)
    return { ...own, contentType, detail: reason }
  }
  const message = status === 504 ? 'The server did not respond in time.' : 'The server failed.'
  const own = errorReply(status, id, { code: CODES.internal, message }, reasonOf(status))
  return { ...own, detail: reason }
}

function reasonOf(status: number) {
  if (status === 504) return 'upstream-timeout' as const
  return status === 503 ? ('no-backend' as const) : ('upstream' as const)
}
