import { isGrpcRequest } from '../exchange/grpc.ts'
import type { Recorded } from '../exchange/recorded.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import type { ModelAttempt } from '../program/model-call.ts'
import type { PassingBody } from '../program/model-response.ts'
import type { PlacedPart } from '../program/way-back.ts'
import type { Downstream } from '../wire/downstream.ts'
import type { FieldLines, NameSet } from '../wire/http1/field-lines.ts'
import { type Fields, joinedValue } from '../wire/http1/fields.ts'
import { framedHead } from '../wire/http1/framed-head.ts'
import type { RequestHead } from '../wire/http1/head.ts'
import { renderedEdit } from '../wire/http1/rendered-edit.ts'
import { droppedWithId, linesWithId } from '../wire/http1/request-id-line.ts'
import { copyResponseHead } from '../wire/http1/response-copy.ts'
import type { ResponseHead } from '../wire/http1/response-head.ts'
import type { BodySink } from '../wire/streams.ts'
import { CROWDED_OUT } from './body-chain.ts'
import type { CallOutName } from './call-outs.ts'
import { KeptBody } from './kept-body.ts'
import type { RequestState } from './request-state.ts'
import { RequestTransform, type TransformLimits } from './request-transform.ts'
import { ResponseDoubt } from './response-doubt.ts'
import { changedHead, ResponsePass } from './response-pass.ts'

/** Decides about the exchange: ./request-loop.ts. */
export interface PolicyEvents {
  broken(state: RequestState, error: unknown): void
  /** The gateway itself responds after all. */
  reject(state: RequestState, response: Reply): void
  /** Makes the record of a response of the gateway itself. */
  recorded(state: RequestState, response: Reply, status: number): Recorded
}

const CROWDED = { ...reply(503, 'overload'), detail: 'buffers' }

/**
 * A client's request and the path of its response, with the policies in between that act on
 * responses and bodies. Only exists if there are such policies.
 */
export class PolicyDownstream implements Downstream {
  head: RequestHead
  readonly takesWire = false
  readonly #client: Downstream
  readonly #state: RequestState
  readonly #limits: TransformLimits
  readonly #events: PolicyEvents
  #request: RequestTransform | undefined = undefined
  #response: ResponsePass | undefined = undefined
  /** Reads what the backend sends, and changes nothing. */
  #tap: ((bytes: Uint8Array) => void) | undefined = undefined
  /** The response of a provider, if no policy acts on it: it goes straight to the client. */
  #passing: PassingBody | undefined = undefined
  /** A response that may turn out to be an error: none of it was forwarded. */
  #doubt: ResponseDoubt | undefined = undefined

  constructor(state: RequestState, limits: TransformLimits, events: PolicyEvents) {
    this.#state = state
    this.#client = state.downstream
    this.#limits = limits
    this.#events = events
    this.head = this.#client.head
  }

  /**
   * Runs the policies that act on the body, and calls `next` once all that wait for some of it have
   * seen it. `read`: the body, as far as it was read before. `max`: bytes to keep for another
   * attempt.
   */
  transform(
    parts: readonly PlacedPart[],
    read: KeptBody | undefined,
    max: number,
    next: (body: KeptBody | undefined) => void,
  ): void {
    const client = this.#client
    const isGrpc = isGrpcRequest(this.#state.exchange)
    const own = parts.filter(({ body }) => body?.grpc === true || !isGrpc)
    // A request for an upgrade has no body, or an ordinary one.
    const isUpgrade = client.head.upgrade !== '' && client.head.framing === 'none'
    if (own.length === 0 || isUpgrade) {
      next(read)
      return
    }
    const failed = (why: unknown) => this.#failed('body', why)
    const transform = new RequestTransform(this.#state.exchange, client, this.#limits, failed)
    this.#request = transform
    const isOver = () => this.#state.isOver || client.isResponding
    transform
      .run(own, read, isOver)
      .then((outcome) => {
        if (isOver()) transform.chain.drop()
        else if ('status' in outcome) this.#failed('body', outcome)
        else {
          this.head = outcome.head
          const { body } = outcome
          const kept = body && new KeptBody(max)
          if (body !== undefined && kept !== undefined) body.connect(kept)
          next(kept)
        }
      })
      .catch((error: unknown) => {
        if (!isOver()) this.#failed('body', error)
      })
  }

  /** Frames the request with the body for a model provider; undefined: with the received body. */
  reframe(attempt: ModelAttempt | undefined): KeptBody | undefined {
    if (attempt === undefined) return undefined
    const { length } = attempt.body
    this.head = framedHead(this.#client.head, length === 0 ? 'none' : 'length', length)
    return KeptBody.of(attempt.body)
  }

  // The response.

  respond(head: ResponseHead, dropped: NameSet, lines: FieldLines): boolean {
    const { attempt } = this.#state.selection ?? {}
    const header = (name: string) => joinedValue(head.fields, name)
    if (head.framing !== 'none' && attempt?.response.mayBeError(head.status, header) === true) {
      this.#doubt = new ResponseDoubt(head, { dropped, lines })
      return true
    }
    return this.#respond(head, dropped, lines)
  }

  #respond(head: ResponseHead, dropped: NameSet, lines: FieldLines): boolean {
    this.#passing = this.#passingBody(head)
    if (this.#passing !== undefined) return this.#client.respond(head, dropped, lines)
    this.#begin(head)
    return true
  }

  /** More of a response that may be an error; true if it is known not to be, or is sent. */
  #resolve(bytes: Buffer | undefined): boolean {
    const doubt = this.#doubt
    if (doubt === undefined) return true
    const verdict = doubt.look(bytes)
    if (verdict === 'more') return false
    this.#doubt = undefined
    const { head, dropped, lines, held, isStream } = doubt
    const { exchange, delivery } = this.#state
    const failed = verdict && copyResponseHead(head, verdict.status, this.head.method)
    if (failed !== undefined && delivery?.failedLate(failed) === true) return false
    // A stream reports the error in its own format.
    const sent = isStream ? head : (failed ?? head)
    exchange.status = sent.status
    if (!this.#respond(sent, dropped, lines)) {
      this.#failed('response', { ...reply(502, 'upstream-invalid'), detail: 'bad-response' })
      return false
    }
    for (const piece of held) this.#pass(piece, false, piece.length)
    return true
  }

  #passingBody(head: ResponseHead): PassingBody | undefined {
    const { backend, route, selection } = this.#state
    const response = selection?.attempt?.response
    if (response === undefined || backend?.responseParts || route?.responseParts) return undefined
    const isChunked = head.framing === 'chunked'
    return response.pass(head.status, (name) => joinedValue(head.fields, name), isChunked)
  }

  /** In the order in which they see a response. */
  get #parts(): readonly PlacedPart[] {
    const { backend, route } = this.#state
    return [...(backend?.responseParts ?? []), ...(route?.responseParts ?? [])]
  }

  /** The gateway responds, instead of anything before. */
  respondInstead(response: Reply): void {
    this.#begin(response)
  }

  #begin(source: ResponseHead | Reply): void {
    this.#passing = undefined
    this.#doubt = undefined
    this.#response?.drop()
    const state = this.#state
    const failed = (why: unknown) => this.#failed('response', why)
    const recorded = (own: Reply, status: number) => this.#events.recorded(state, own, status)
    const pass = new ResponsePass(state, this.#client, this.#limits, source, { failed, recorded })
    this.#response = pass
    const own = state.selection?.attempt?.response.part
    const parts = this.#parts
    void pass.start(own === undefined ? parts : [own, ...parts])
    this.#tap = state.selection?.attempt?.response.tap
  }

  /** A policy threw or cannot continue: sends an error, or cuts off a response that has begun. */
  #failed(callOut: CallOutName, why: unknown): void {
    const state = this.#state
    this.close()
    if (state.isOver) return
    const response = why === CROWDED_OUT ? CROWDED : isReply(why) ? why : undefined
    if (response === undefined) {
      state.callOut = callOut
      this.#events.broken(state, why)
      return
    }
    state.delivery?.replaced()
    if (!this.#client.isResponding) {
      this.#client.head.keepAlive = false
      this.#events.reject(state, response)
      return
    }
    state.exchange.reason = response.reason
    state.exchange.detail = response.detail ?? ''
    this.#client.abort()
  }

  /** The exchange is over, for whatever reason. */
  close(): void {
    this.#doubt = undefined
    this.#request?.chain.drop()
    this.#response?.drop()
    this.#response = undefined
  }

  /** The buffer that was read to is reused, so bytes that are held are copied. */
  write(bytes: Buffer, asWire: boolean, byteCount: number): boolean {
    if (this.#doubt !== undefined && !this.#resolve(bytes)) return true
    return this.#pass(bytes, asWire, byteCount)
  }

  #pass(bytes: Buffer, asWire: boolean, byteCount: number): boolean {
    const passing = this.#passing
    if (passing !== undefined) {
      const passed = passing.write(bytes)
      if (passed === bytes) return this.#client.write(bytes, asWire, byteCount)
      return passed.length === 0 || this.#client.write(asBuffer(passed), asWire, passed.length)
    }
    const chain = this.#response?.chain
    if (chain === undefined) return true
    this.#tap?.(bytes)
    if (chain.isPlain) return this.#client.write(bytes, asWire, byteCount)
    return chain.write(Buffer.from(bytes))
  }

  flush(): void {
    if (this.#doubt !== undefined) return
    if (this.#passing === undefined) this.#response?.flush()
    else this.#client.flush()
  }

  end(trailers: Fields | undefined): void {
    if (this.#doubt !== undefined && !this.#resolve(undefined)) return
    const passing = this.#passing
    if (passing === undefined) {
      this.#response?.chain.end(trailers)
      return
    }
    const rest = passing.end()
    if (rest.length > 0) this.#client.write(asBuffer(rest), false, rest.length)
    this.#client.end(trailers, false)
  }

  /** The client accepts more of the response. */
  drained(): void {
    const chain = this.#response?.chain
    if (this.#passing !== undefined || chain?.isPlain === true) this.#state.delivery?.proceed()
    else chain?.resume()
  }

  reply(recorded: Recorded, status: number, lines: FieldLines, body: Buffer | string): void {
    this.close()
    this.#client.reply(recorded, status, lines, body)
  }

  abort(): void {
    this.close()
    this.#client.abort()
  }

  // The request body, as changed by policies.

  readBody(sink: BodySink, asWire: boolean): void {
    this.#client.readBody(sink, asWire)
  }

  resumeBody(): void {
    if (this.#request === undefined) this.#client.resumeBody()
    else this.#request.chain.resume()
  }

  // The client handles everything else.

  get version(): string {
    return this.#client.version
  }

  get exchange(): unknown {
    return this.#client.exchange
  }

  set exchange(exchange: unknown) {
    this.#client.exchange = exchange
  }

  get isResponding(): boolean {
    return this.#client.isResponding
  }

  get bytesReceived(): number {
    return this.#client.bytesReceived
  }

  get bytesSent(): number {
    return this.#client.bytesSent
  }

  get isWritten(): boolean {
    return this.#client.isWritten
  }

  interim(head: ResponseHead, dropped: NameSet): void {
    const edit = changedHead(this.#state, this.#parts, head)
    this.#client.interim(head, edit === undefined ? dropped : renderedEdit(edit).dropped)
  }

  tunnel(head: ResponseHead, dropped: NameSet, lines: FieldLines, sink: BodySink): boolean {
    const { exchange } = this.#state
    const edit = changedHead(this.#state, this.#parts, head)
    if (edit === undefined) return this.#client.tunnel(head, dropped, lines, sink)
    const { id } = exchange.request
    const own = renderedEdit(edit)
    return this.#client.tunnel(head, droppedWithId(own, id), linesWithId(own, id), sink)
  }

  writeTunnel(bytes: Buffer): boolean {
    return this.#client.writeTunnel(bytes)
  }

  endTunnel(): void {
    this.#client.endTunnel()
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function isReply(why: unknown): why is Reply {
  return typeof why === 'object' && why !== null && 'status' in why && 'reason' in why
}
