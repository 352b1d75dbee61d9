import type { Header } from '../exchange/header-edit.ts'
import type { Reply } from '../exchange/reply.ts'
import type { Permit } from '../program/permit.ts'
import type { McpUpstream } from '../program/program.ts'
import { fieldLine } from '../wire/http1/field-lines.ts'
import { renderedEdit } from '../wire/http1/rendered-edit.ts'
import { droppedWithId, linesWithId } from '../wire/http1/request-id-line.ts'
import { ResponseHead, readResponseHead } from '../wire/http1/response-head.ts'
import type { ActiveDelivery, RequestState } from './request-state.ts'

/** Sends responses that are not streams. */
export interface McpDeliveryEvents {
  reject(state: RequestState, reply: Reply): void
  broken(state: RequestState, error: unknown): void
}

type Sending = ReturnType<McpUpstream['serve']>

/** Delivers an MCP message to servers, and their messages to the client. */
export class McpDelivery implements ActiveDelivery {
  readonly #state: RequestState
  readonly #events: McpDeliveryEvents
  #sending: Sending | undefined
  #isOver = false

  constructor(state: RequestState, events: McpDeliveryEvents) {
    this.#state = state
    this.#events = events
  }

  start(upstream: McpUpstream, permit: Permit<'backend'>): void {
    this.#state.delivery = this
    const sending = upstream.serve(permit, this.#state.exchange, this)
    this.#sending = sending
    if (this.#isOver) sending.stop()
  }

  // Events of the exchange.

  stop(): void {
    this.#isOver = true
    this.#sending?.stop()
  }

  finish(): void {
    this.stop()
  }

  resume(): void {
    const { policies } = this.#state
    if (policies === undefined) this.#sending?.resume()
    else policies.drained()
  }

  proceed(): void {
    this.#sending?.resume()
  }

  replaced(): void {
    this.stop()
  }

  replaceBody(): void {}

  failedLate(): boolean {
    return false
  }

  // The response. An exception concerns only this request.

  reply(reply: Reply): void {
    this.#guarded(() => {
      this.#sending?.stop()
      this.#isOver = true
      this.#events.reject(this.#state, reply)
    })
  }

  open(headers: readonly Header[]): void {
    this.#guarded(() => {
      const { downstream, exchange } = this.#state
      const head = streamHead(headers)
      this.#state.responded(performance.now())
      exchange.status = head.status
      const edit = renderedEdit(exchange.responseEdit)
      const { id } = exchange.request
      downstream.respond(head, droppedWithId(edit, id), linesWithId(edit, id))
      downstream.flush()
    })
  }

  write(text: string): boolean {
    let goesOn = true
    this.#guarded(() => {
      const { downstream } = this.#state
      const bytes = Buffer.from(text, 'utf8')
      goesOn = downstream.write(bytes, false, bytes.length)
      downstream.flush()
    })
    return goesOn
  }

  end(): void {
    this.#guarded(() => {
      this.#isOver = true
      this.#state.downstream.end(undefined, false)
    })
  }

  abort(reason: string): void {
    this.#guarded(() => {
      const { downstream, exchange } = this.#state
      exchange.reason = 'upstream-reset'
      exchange.detail = reason
      this.stop()
      downstream.abort()
    })
  }

  broke(error: unknown): void {
    if (!this.#state.isOver) this.#events.broken(this.#state, error)
  }

  #guarded(work: () => void): void {
    if (this.#isOver || this.#state.isOver) return
    this.#state.callOut = 'response'
    try {
      work()
    } catch (error) {
      this.#events.broken(this.#state, error)
    }
  }
}

const LIMITS = { head: 65_536, target: 8_192, fields: 100 }

/** The head of an event stream, in the form that the wire reads. */
function streamHead(headers: readonly Header[]): ResponseHead {
  const lines = headers.map(([name, value]) => fieldLine(name, value) ?? '').join('')
  const text =
    'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n' +
    `cache-control: no-cache, no-transform\r\n${lines}transfer-encoding: chunked\r\n\r\n`
  const bytes = Buffer.from(text, 'latin1')
  const head = new ResponseHead()
  readResponseHead(bytes, 0, bytes.length, LIMITS, 'POST', head)
  return head
}
