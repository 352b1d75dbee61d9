import type { BodyPart } from '../exchange/body-part.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { isGrpcResponse } from '../exchange/grpc.ts'
import { type HeaderEdit, NO_EDIT } from '../exchange/header-edit.ts'
import { KeptHeaders } from '../exchange/kept-headers.ts'
import { errorIn } from '../exchange/policy-error.ts'
import type { Recorded } from '../exchange/recorded.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import { DraftAttributes, ResponseDraft } from '../exchange/response-draft.ts'
import type { ListenerProgram } from '../program/program.ts'
import type { PlacedPart } from '../program/way-back.ts'
import type { Downstream } from '../wire/downstream.ts'
import { hideOfSet } from '../wire/http1/field-lines.ts'
import { Http1Headers } from '../wire/http1/header-view.ts'
import { renderedEdit } from '../wire/http1/rendered-edit.ts'
import { droppedWithId, linesWithId } from '../wire/http1/request-id-line.ts'
import { copyResponseHead } from '../wire/http1/response-copy.ts'
import type { ResponseHead } from '../wire/http1/response-head.ts'
import { BodyChain, type ChainEvents, CROWDED_OUT } from './body-chain.ts'
import { contentOf, isCoded } from './content-coding.ts'
import { type OwnResponse, ownResponse, sendOwnResponse } from './replies.ts'
import type { TransformLimits } from './request-transform.ts'

const TOO_LONG = { ...reply(502, 'upstream-invalid'), detail: 'response-too-large' }
const NO_CONTENT = Buffer.alloc(0)
const UNWRITABLE = { ...reply(502, 'upstream-invalid'), detail: 'bad-response' }

/** The request that this is the response to. */
export interface RespondedRequest {
  readonly exchange: Exchange
  readonly listener: ListenerProgram
  readonly isOver: boolean
  readonly delivery: { proceed(): void; replaced(): void } | undefined
}

export interface PassEvents extends Pick<ChainEvents, 'failed'> {
  /** Makes the record of a response of the gateway itself, before it is sent. */
  recorded(response: Reply, status: number): Recorded
}

/** One response, from a backend or from the gateway itself, on its way through the policies. */
export class ResponsePass {
  #chain: BodyChain
  #draft: ResponseDraft
  #own: OwnResponse | undefined
  #isOver = false
  /** The body is complete for the policy whose turn it is. */
  #isWhole = false
  /** The content that was decoded last, and the bytes that it was decoded from. */
  #coded: Buffer | undefined = undefined
  #content: Uint8Array | undefined = undefined
  #retained = 0
  /** Sends the head, if it waits; false if it cannot be sent. */
  #begin: (() => boolean) | undefined = undefined
  readonly #head: ResponseHead | undefined
  readonly #state: RespondedRequest
  readonly #client: Downstream
  readonly #limits: TransformLimits
  readonly #edit: HeaderEdit
  readonly #failed: ChainEvents['failed']
  readonly #recorded: PassEvents['recorded']

  /** `source`: the head of a backend's response, or the gateway's own reply. */
  constructor(
    state: RespondedRequest,
    client: Downstream,
    limits: TransformLimits,
    source: ResponseHead | Reply,
    { failed, recorded }: PassEvents,
  ) {
    const { exchange } = state
    this.#state = state
    this.#client = client
    this.#limits = limits
    this.#edit = exchange.responseEdit
    this.#recorded = recorded
    this.#failed = (why) => {
      if (!this.#isOver) failed(why)
    }
    if ('fields' in source) {
      const { method } = client.head
      const head = copyResponseHead(source, source.status, method)
      this.#head = head
      this.#own = undefined
      const headers = new Http1Headers(head.fields)
      const { length } = head
      const hasBody = mayHaveBody(head.status, method)
      this.#draft = new ResponseDraft(head.status, headers, this.#edit, { hasBody, length })
      const drained = () => state.delivery?.proceed()
      this.#chain = new BodyChain({ drained, failed: this.#failed }, limits.room)
    } else {
      this.#head = undefined
      this.#own = ownResponse(exchange, source)
      this.#draft = this.#ownDraft(this.#own)
      this.#chain = this.#ownChain(this.#own)
    }
    exchange.response = new DraftAttributes(this.#draft, this.#own?.reply)
  }

  get chain(): BodyChain {
    return this.#chain
  }

  /** Synchronous as long as the policies are. */
  async start(parts: readonly PlacedPart[]): Promise<void> {
    let at: PlacedPart | undefined
    try {
      for (at of parts) {
        const collecting = this.#collect(at.body)
        const isThere = collecting instanceof Promise ? await collecting : collecting
        if (this.#isGone) return
        const stepping = isThere ? at.response?.(this.#state.exchange, this.#draft) : TOO_LONG
        let made = stepping instanceof Promise ? await stepping : stepping
        if (this.#isGone) return
        if (made === undefined) {
          const changing = this.#change(at)
          made = changing instanceof Promise ? await changing : changing
          if (this.#isGone) return
        }
        if (made !== undefined) this.#replace({ ...made, by: made.by ?? at.policy })
      }
      at = undefined
      if (this.#own === undefined) this.#send()
      else await this.#sendOwn(this.#own)
    } catch (error) {
      this.#failed(errorIn(at?.policy, error))
    }
  }

  /** Another response replaces it, or it is over. */
  drop(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#chain.drop()
    this.#limits.room?.release(this.#retained)
    const { exchange } = this.#state
    exchange.response = undefined
    exchange.responseEdit = this.#edit
  }

  get #isGone(): boolean {
    return this.#isOver || this.#state.isOver || this.#client.isResponding
  }

  /** A client that only claims to use gRPC receives what all others receive. */
  #concerns({ grpc = false }: BodyPart): boolean {
    return grpc || !isGrpcResponse(this.#state.exchange, this.#draft)
  }

  /** Waits for what the policy must see; false if it is too long. */
  #collect(body: BodyPart | undefined): boolean | Promise<boolean> {
    const draft = this.#draft
    if (body === undefined || body.mode === 'stream' || !draft.hasBody || !this.#concerns(body))
      return true
    const chain = this.#chain
    // The gateway's own responses are complete, and short.
    const max = draft.isOwn ? Number.POSITIVE_INFINITY : (body.maxBytes ?? this.#limits.maxBody)
    const isWhole = chain.collect(max)
    const seen = (whole: boolean): boolean | Promise<boolean> => {
      this.#isWhole = whole
      draft.body = whole ? chain.bytes : undefined
      const coding = draft.headers.get('content-encoding')
      if (whole && body.mode === 'whole' && body.isRead && isCoded(coding))
        return this.#decode(coding)
      return whole || body.mode === 'beginning' || body.whenLonger === 'pass'
    }
    return isWhole instanceof Promise ? isWhole.then(seen) : seen(isWhole)
  }

  /** A body that cannot be decoded is absent for expressions, so that those that read it fail. */
  async #decode(coding: string): Promise<true> {
    const draft = this.#draft
    const { bytes } = this.#chain
    if (this.#coded !== bytes) {
      const { maxBody, room } = this.#limits
      const content = await contentOf(bytes, coding, maxBody)
      if (this.#isGone) return true
      const size = content?.length ?? 0
      if (room?.retain(size) === false) {
        this.#failed(CROWDED_OUT)
        return true
      }
      this.#retained += size
      this.#coded = bytes
      this.#content = content
    }
    draft.body = this.#content
    return true
  }

  #change({ body, policy }: PlacedPart): Reply | undefined | Promise<Reply | undefined> {
    const draft = this.#draft
    const chain = this.#chain
    const { exchange } = this.#state
    if (body === undefined || !this.#concerns(body)) return undefined
    if (!draft.hasBody) {
      // The length in a response to HEAD would be another one.
      if (body.mode === 'stream' || (body.mode === 'whole' && body.change)) chain.isChanged = true
      return undefined
    }
    if (body.mode === 'stream') {
      chain.add(policy, (flow) => body.open(exchange, flow, draft))
      if (chain.isChanged) draft.body = undefined
      return undefined
    }
    if (body.mode === 'beginning')
      return body.look(chain.bytes.subarray(0, body.maxBytes), chain.isWhole, exchange, draft)
    if (!this.#isWhole || body.change === undefined) return undefined
    const changed = (outcome: Uint8Array | Reply | undefined) => {
      if (!(outcome instanceof Uint8Array)) return outcome
      chain.replace(outcome)
      draft.body = outcome
      draft.length = outcome.length
      return undefined
    }
    const outcome = body.change(chain.bytes, exchange, draft)
    return outcome instanceof Promise ? outcome.then(changed) : changed(outcome)
  }

  /** Another response replaces this one; the remaining policies see that response. */
  #replace(made: Reply): void {
    const { exchange, delivery } = this.#state
    this.#chain.drop()
    delivery?.replaced()
    const own = ownResponse(exchange, made)
    this.#own = own
    this.#draft = this.#ownDraft(own)
    this.#chain = this.#ownChain(own)
    exchange.response = new DraftAttributes(this.#draft, made)
  }

  #ownDraft({ reply, status, contentType, body, grpc }: OwnResponse): ResponseDraft {
    const headers = new KeptHeaders(undefined, NO_EDIT)
    if (contentType !== '') headers.set('content-type', contentType)
    // A response to HEAD describes the body of GET: the body is set here, and the wire omits it.
    const hasBody = grpc === undefined && mayHaveBody(status, 'GET')
    const edit = reply.headers.with(this.#edit)
    const about = { isOwn: true, hasBody, length: body.length }
    return new ResponseDraft(status, headers, edit, about)
  }

  #ownChain({ body }: OwnResponse): BodyChain {
    const chain = new BodyChain({ drained: () => {}, failed: this.#failed })
    chain.write(body)
    chain.end(undefined)
    return chain
  }

  #send(): void {
    const { exchange } = this.#state
    const draft = this.#draft
    const chain = this.#chain
    const received = this.#head as ResponseHead
    const { method } = this.#client.head
    const isSame = draft.status === received.status
    const head = isSame ? received : copyResponseHead(received, draft.status, method)
    const isSent = received.framing !== 'none'
    frame(head, draft, chain, method)
    const edit = renderedEdit(draft.edit)
    const { id } = exchange.request
    exchange.response = undefined
    exchange.status = draft.status
    exchange.responseEdit = draft.edit
    exchange.unwritten = draft.edit.unwritten
    if (exchange.responseHeaders !== undefined) {
      const kept = new KeptHeaders(new Http1Headers(received.fields), draft.edit)
      if (id !== '' && !edit.namesId) kept.set('x-request-id', id)
      exchange.responseHeaders = kept
    }
    const client = this.#client
    const begin = () => {
      this.#begin = undefined
      if (client.respond(head, droppedWithId(edit, id), linesWithId(edit, id))) return true
      this.#failed(UNWRITABLE)
      return false
    }
    const hasBody = head.framing !== 'none'
    if (isSent && !hasBody && !chain.isWhole) {
      // The rest of the backend's response is not needed, however long it is.
      if (begin()) client.end(undefined, false)
      return
    }
    if (chain.isPassing) this.#begin = begin
    else if (!begin()) return
    chain.connect({
      write: (bytes) => {
        if (this.#begin?.() === false) return true
        return !hasBody || client.write(bytes, false, bytes.length)
      },
      end: (trailers) => {
        // These arrived before it was known which ones are removed.
        if (trailers !== undefined) hideOfSet(edit.dropped, trailers)
        if (this.#begin?.() !== false) client.end(trailers, false)
      },
      abort() {},
    })
  }

  /**
   * No more input is available for now. A head whose body is transformed waits for the first byte
   * of output, since another response can still report an earlier failure; but not for long.
   */
  flush(): void {
    const chain = this.#chain
    if (!chain.isConnected) return
    chain.flush()
    if (this.#begin === undefined) this.#client.flush()
    else
      setImmediate(() => {
        if (!this.#isGone && this.#begin?.() !== false) this.#client.flush()
      })
  }

  /** Complete, as all responses of the gateway are. */
  async #sendOwn(own: OwnResponse): Promise<void> {
    const chain = this.#chain
    const collecting = chain.collect(Number.POSITIVE_INFINITY)
    if (collecting instanceof Promise) await collecting
    if (this.#isGone) return
    const { exchange, listener } = this.#state
    const { status, edit, hasBody } = this.#draft
    exchange.response = undefined
    const keeps = listener.needs?.responseHeaders === true
    const body = status === 205 ? NO_CONTENT : hasBody ? chain.bytes : own.body
    const recorded = this.#recorded(own.reply, own.grpc === undefined ? status : own.reply.status)
    sendOwnResponse(this.#client, exchange, recorded, { ...own, status, body }, edit, keeps)
  }
}

/** RFC 9110 §6.4.1. */
function mayHaveBody(status: number, method: string): boolean {
  return method !== 'HEAD' && status !== 204 && status !== 304
}

/** Frames the head by the actual body. */
function frame(head: ResponseHead, draft: ResponseDraft, chain: BodyChain, method: string): void {
  if (!mayHaveBody(draft.status, method)) {
    if (draft.hasBody || chain.isChanged) head.length = -1
    head.framing = 'none'
  } else if (!draft.hasBody || draft.status === 205) {
    // It has no content (RFC 9110 §15.3.6), or had none as another status: the head must say so.
    head.length = 0
    head.framing = 'none'
  } else if (chain.isWhole && chain.trailers === undefined) {
    head.length = chain.size
    head.framing = chain.size === 0 ? 'none' : 'length'
  } else if (chain.isChanged) {
    head.length = -1
    head.framing = 'chunked'
  }
}

/** What policies change in a head that is not the response: 103 or 101. Undefined: nothing. */
export function changedHead(
  { exchange }: RespondedRequest,
  parts: readonly PlacedPart[],
  { status, fields }: ResponseHead,
): HeaderEdit | undefined {
  if (!parts.some(({ otherHead }) => otherHead !== undefined)) return undefined
  const headers = new Http1Headers(fields)
  const draft = new ResponseDraft(status, headers, exchange.responseEdit, { hasBody: false })
  exchange.response = new DraftAttributes(draft)
  for (const { otherHead } of parts) otherHead?.(exchange, draft)
  exchange.response = undefined
  return draft.edit
}
