import type { Json } from '../../cel/values/json-write.ts'
import type { BodyOutcome } from '../../exchange/body-part.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import { type Reply as GatewayReply, reply } from '../../exchange/reply.ts'
import type { ResponseDraft } from '../../exchange/response-draft.ts'
import type { OpenStream } from '../../exchange/service-call.ts'
import type { Outcome } from '../../exchange/step.ts'
import { sentHeaders } from '../sent-headers.ts'
import type { Header } from '../service-headers.ts'
import { changeRequest, changeResponse, immediateReply } from './changes.ts'
import type { BodyMode, Changes, Override, Phase, Reply } from './messages.ts'
import type { ExtProc } from './schema.ts'
import { Session } from './session.ts'

export type Computed = (exchange: Exchange) => Readonly<Record<string, Json>>

/** A service and its settings; created once per configuration. */
export interface Processor {
  /** Undefined: there is no service to call. */
  readonly open: OpenStream | undefined
  readonly loading: Promise<typeof import('./messages.ts')>
  readonly isOpen: boolean
  readonly timeout: number
  readonly options: ExtProc['processingOptions']
  readonly metadata: (
    exchange: Exchange,
  ) => Readonly<Record<string, Readonly<Record<string, Json>>>>
  readonly requestAttributes: Computed
  readonly responseAttributes: Computed
}

/** gRPC servers limit messages to a few megabytes. */
const MAX_PIECE_BYTES = 65_536

/** The processing of one request and its response by one service. */
export class Processing {
  /** The body that replaces the client's; undefined: unchanged. */
  replacedBody: Uint8Array | undefined = undefined
  readonly #processor: Processor
  readonly #exchange: Exchange
  #session: Session | undefined
  /** No more messages are sent: processing is complete, or failed open. */
  #isOver = false
  #requestBody: BodyMode
  #responseHeaders: 'send' | 'skip'
  #responseBody: BodyMode
  /** The service knows that no body follows the response headers. */
  #hasResponseEnded = false

  constructor(processor: Processor, exchange: Exchange) {
    this.#processor = processor
    this.#exchange = exchange
    const { requestBodyMode, responseHeaderMode, responseBodyMode } = processor.options
    this.#requestBody = requestBodyMode
    this.#responseHeaders = responseHeaderMode
    this.#responseBody = responseBodyMode
  }

  get session(): Session | undefined {
    return this.#session
  }

  get timeout(): number {
    return this.#processor.timeout
  }

  stop(): void {
    this.#isOver = true
    this.#session?.stop()
  }

  async request(): Promise<Outcome> {
    const exchange = this.#exchange
    const { options, open, loading, timeout, metadata, requestAttributes } = this.#processor
    if (open === undefined) return this.failed('no-backend')
    const body = this.#bodyOf(exchange)
    if (body === 'too-large') return TOO_LARGE
    const opening = {
      requestBody: this.#requestBody,
      responseBody: this.#responseBody,
      metadata: metadata(exchange),
    }
    const codec = await loading
    if (this.#isOver) return undefined
    const session = new Session(open, codec, exchange, { opening, timeout })
    this.#session = session
    const hasBody = body === undefined ? mayHaveBody(exchange) : body.bytes.length > 0
    const pieces = body === undefined || !hasBody ? [] : this.#piecesOf(body)
    if (options.requestHeaderMode === 'send') {
      const attributes = requestAttributes(exchange)
      const headers = sentHeaders(exchange)
      session.send({ phase: 'requestHeaders', headers, endOfStream: !hasBody, attributes })
      // A service may read the whole body before it replies.
      if (this.#requestBody === 'fullDuplexStreamed') this.#sendPieces(session, pieces)
      const said = await this.#expect('requestHeaders')
      if ('status' in said || 'isFailed' in said) return this.#settled(said)
      const wrong = changeRequest(exchange, said)
      if (wrong !== undefined) return this.failed(wrong)
      if (said.isReplaced || (said.body !== undefined && !said.body.isPiece)) {
        this.#replace(said.body?.bytes ?? new Uint8Array())
        return this.#rest()
      }
      const overridden = this.#override(said.override)
      if (overridden !== undefined) return this.failed(overridden)
    } else if (this.#requestBody === 'fullDuplexStreamed') this.#sendPieces(session, pieces)
    if (pieces.length === 0 || this.#requestBody === 'none') return this.#rest()
    const isWhole = body?.isWhole !== false
    if (this.#requestBody !== 'fullDuplexStreamed') this.#sendPieces(session, pieces, isWhole)
    return this.#readBody(pieces, isWhole)
  }

  /** Collects the service's version of the request body. */
  async #readBody(pieces: readonly Uint8Array[], isWhole: boolean): Promise<Outcome> {
    const made: Uint8Array[] = []
    let isChanged = false
    for (let at = 0; ; at++) {
      const said = await this.#expect('requestBody')
      if ('status' in said || 'isFailed' in said) return this.#settled(said)
      const wrong = changeRequest(this.#exchange, said)
      if (wrong !== undefined) return this.failed(wrong)
      const { body } = said
      isChanged ||= body !== undefined
      made.push(body?.bytes ?? pieces[at] ?? new Uint8Array())
      // A streamed reply marks its own end; otherwise there is one reply per chunk.
      if (body?.isPiece === true ? body.endOfStream : at + 1 >= pieces.length) break
    }
    if (!isChanged) return this.#rest()
    // The rest of the original would follow the replaced beginning.
    if (!isWhole) return this.failed('a partially buffered body cannot be changed')
    this.#replace(Buffer.concat(made))
    return this.#rest()
  }

  async response(draft: ResponseDraft): Promise<Outcome> {
    const session = this.#session
    if (this.#isOver || session === undefined) return undefined
    if (draft.isOwn) {
      this.stop()
      return undefined
    }
    if (this.#responseHeaders === 'skip') return undefined
    const attributes = this.#processor.responseAttributes(this.#exchange)
    const endOfStream = !draft.hasBody || draft.length === 0
    session.send({ phase: 'responseHeaders', headers: headersOf(draft), endOfStream, attributes })
    const said = await this.#expect('responseHeaders')
    if ('status' in said || 'isFailed' in said) return this.#settled(said)
    const wrong = changeResponse(draft, said) ?? this.#override(said.override)
    if (wrong !== undefined) return this.failed(wrong)
    if (said.isReplaced || said.body !== undefined) {
      return this.failed('the service changed a body that it was not sent')
    }
    this.#hasResponseEnded = endOfStream
    if (endOfStream || this.#responseBody === 'none') session.end()
    return undefined
  }

  /** Processes the whole body of the response. */
  async responseBody(bytes: Uint8Array, draft: ResponseDraft | undefined): Promise<BodyOutcome> {
    const session = this.#session
    if (this.#isOver || session === undefined || draft === undefined || draft.isOwn)
      return undefined
    if (this.#responseBody === 'none' || bytes.length === 0) return undefined
    session.send({ phase: 'responseBody', body: bytes, endOfStream: true })
    const said = await this.#expect('responseBody')
    if ('status' in said || 'isFailed' in said) return this.#settled(said)
    const wrong = changeResponse(draft, said)
    if (wrong !== undefined) return this.failed(wrong)
    session.end()
    return said.body?.bytes
  }

  /** Whether the body of this response is sent chunk by chunk. */
  streamsResponse({ isOwn, hasBody }: ResponseDraft): boolean {
    if (this.#isOver || this.#hasResponseEnded || isOwn || !hasBody) return false
    return this.#responseBody === 'fullDuplexStreamed'
  }

  /** Undefined: continue without the service. */
  failed(detail: string): GatewayReply | undefined {
    this.stop()
    if (this.#processor.isOpen) return undefined
    return { ...reply(500, 'external-processing'), detail }
  }

  /** The next reply of the service, which must be for this phase. */
  async #expect(phase: Phase): Promise<Changes | GatewayReply | Failure> {
    const said = await (this.#session as Session).next()
    return settle(said, phase)
  }

  #settled(said: GatewayReply | Failure): GatewayReply | undefined {
    if ('isFailed' in said) return this.failed(said.detail)
    this.stop()
    return said
  }

  /** Continues the request; the stream ends if the service does not process the response. */
  #rest(): undefined {
    if (this.#responseHeaders === 'skip' && this.#responseBody === 'none') this.#session?.end()
    return undefined
  }

  /** The service may skip a phase, but cannot request a mode that is not configured. */
  #override(wanted: Override | undefined): string | undefined {
    if (wanted === undefined || !this.#processor.options.allowModeOverride) return undefined
    const { requestBody, responseBody, responseHeaders } = wanted
    const isFit = (now: BodyMode, next: BodyMode | 'unknown') => next === 'none' || next === now
    if (!isFit(this.#requestBody, requestBody) || !isFit(this.#responseBody, responseBody)) {
      return 'the service requested a body mode that is not configured'
    }
    if (responseHeaders === 'send' && this.#responseHeaders === 'skip') {
      return 'the service requested a header mode that is not configured'
    }
    if (this.#requestBody !== 'fullDuplexStreamed') this.#requestBody = requestBody as BodyMode
    this.#responseBody = responseBody as BodyMode
    this.#responseHeaders = responseHeaders ?? this.#responseHeaders
    return undefined
  }

  /** Later readers of the body get the new one. */
  #replace(bytes: Uint8Array): void {
    this.replacedBody = bytes
    this.#exchange.request.body = bytes
    this.#exchange.codedBody = undefined
  }

  /** Undefined: the body is not processed. */
  #bodyOf({ request, codedBody, bodyBeginning }: Exchange): Body | 'too-large' | undefined {
    if (this.#requestBody === 'none') return undefined
    const whole = codedBody ?? request.body
    if (whole !== undefined) return { bytes: whole, isWhole: true }
    if (bodyBeginning === undefined) return { bytes: new Uint8Array(), isWhole: true }
    if (this.#requestBody !== 'bufferedPartial') return 'too-large'
    return { bytes: bodyBeginning, isWhole: false }
  }

  #piecesOf({ bytes }: Body): readonly Uint8Array[] {
    if (this.#requestBody !== 'fullDuplexStreamed') return [bytes]
    const pieces: Uint8Array[] = []
    for (let at = 0; at < bytes.length; at += MAX_PIECE_BYTES) {
      pieces.push(bytes.subarray(at, at + MAX_PIECE_BYTES))
    }
    return pieces
  }

  #sendPieces(session: Session, pieces: readonly Uint8Array[], isWhole = true): void {
    for (const [at, body] of pieces.entries()) {
      const endOfStream = isWhole && at === pieces.length - 1
      session.send({ phase: 'requestBody', body, endOfStream })
    }
  }
}

interface Body {
  readonly bytes: Uint8Array
  readonly isWhole: boolean
}

interface Failure {
  readonly isFailed: true
  readonly detail: string
}

function settle(said: Reply, phase: Phase): Changes | GatewayReply | Failure {
  if (said.kind === 'immediate') return immediateReply(said)
  if (said.kind === 'failed') return { isFailed: true, detail: said.detail }
  return said.phase === phase
    ? said
    : { isFailed: true, detail: `unexpected ${said.phase}, expected ${phase}` }
}

const TOO_LARGE = reply(413, 'too-large')

function mayHaveBody({ request }: Exchange): boolean {
  const { headers } = request
  const length = headers.get('content-length')
  return length === undefined ? headers.get('transfer-encoding') !== undefined : length !== '0'
}

function headersOf(draft: ResponseDraft): readonly Header[] {
  const { headers } = draft
  const all = [...headers.keys()].flatMap((name): Header[] => {
    const value = headers.get(name)
    return value === undefined ? [] : [[name.toLowerCase(), value]]
  })
  return [[':status', String(draft.status)], ...all]
}
