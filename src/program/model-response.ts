import type { BodyFlow, BodyOutcome, BodyTransformer } from '../exchange/body-part.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { headerEdit } from '../exchange/header-edit.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import type { ResponseDraft } from '../exchange/response-draft.ts'
import type { Dialect, Read, ResponseSummary } from '../protocols/llm/dialect.ts'
import type { LlmError } from '../protocols/llm/error.ts'
import { droppedText } from '../protocols/llm/parts.ts'
import { MAX_WHOLE_RESPONSE } from '../protocols/llm/reading.ts'
import type {
  StreamTranslator,
  TranslatedCall,
  TranslatedResponse,
} from '../protocols/llm/translator.ts'
import { rejectedBy } from './model-guards.ts'
import { PiecewiseBody } from './piecewise-body.ts'
import type { PlacedPart } from './way-back.ts'

export {
  beginsLikeError,
  ERROR_PREFIX_BYTES,
  type ErrorInSuccess,
  errorInSuccess,
} from '../protocols/llm/error-in-success.ts'

/** Bytes of a response that are kept to read its usage. */
const MAX_WHOLE = 16 * 1024 * 1024

const UNREADABLE = { ...reply(502, 'upstream-invalid'), detail: 'model-response' }
const TOO_LONG = { ...reply(502, 'upstream-invalid'), detail: 'response-too-large' }

/** The header that lists what was lost in translation. */
const DROPPED = 'x-portcullis-dropped'

/** A response that passes unchanged, except for events that the client did not request. */
export interface PassingBody {
  /** Returns what the client gets: the same bytes, or others. */
  write(bytes: Uint8Array): Uint8Array
  /** Returns the rest. */
  end(): Uint8Array
}

const NO_BYTES = new Uint8Array(0)

/** The response of one provider, for a client that may speak another dialect. */
export class ModelResponse {
  /** Monotonic milliseconds; 0 until the first output of the model has passed. */
  firstTokenAt = 0
  /** The response was a stream. */
  isStream = false
  /** A provider served it, but a guard rejected it. */
  isRejected = false
  /** All providers were tried: clients should not retry. */
  isFinal = false
  #hasEnded = false
  readonly #call: TranslatedCall
  readonly #dialect: Dialect
  readonly #isPassThrough: boolean
  /** Bytes pass, except for IDs in them. */
  readonly #isEdited: boolean
  #stream: StreamTranslator | undefined
  #summary: ResponseSummary = {}
  #dropped: readonly string[]
  /** The response is a stored object of any kind. */
  readonly #isStored: boolean
  /** The body is only copied, not changed. */
  #isTapped = false
  #pieces: Buffer[] = []
  #size = 0

  constructor(
    call: TranslatedCall,
    dialect: Dialect,
    isPassThrough: boolean,
    { isEdited = false, isStored = false } = {},
  ) {
    this.#isStored = isStored
    this.#call = call
    this.#dialect = dialect
    this.#isPassThrough = isPassThrough
    this.#isEdited = isEdited
    this.#dropped = call.request.dropped
  }

  /** What the provider has reported so far about itself and its output. */
  get summary(): ResponseSummary {
    return this.#stream ?? this.#summary
  }

  /** The stream ended before the provider completed it. */
  get isCut(): boolean {
    return this.isStream && !this.#hasEnded
  }

  /** What was lost in the request and the response, as it is logged; empty if nothing was. */
  get dropped(): string {
    const later = this.#stream?.dropped ?? []
    if (this.#dropped.length + later.length === 0) return ''
    return droppedText([...new Set([...this.#dropped, ...later])])
  }

  /** Reads passing bytes without changing them; undefined if nothing is read in this way. */
  get tap(): ((bytes: Uint8Array) => void) | undefined {
    return this.#isTapped ? (bytes) => this.#keep(bytes) : undefined
  }

  /**
   * Called when the response is complete: the usage of a response that was only copied is read now.
   */
  finish(): void {
    const pieces = this.#pieces
    this.#pieces = []
    if (!this.#isTapped || pieces.length === 0 || this.#size > MAX_WHOLE) return
    const bytes = Buffer.concat(pieces)
    const completion = this.#call.completionOf?.(bytes)
    this.#summary = { ...this.#dialect.usageOf(bytes), completion }
  }

  /**
   * The body if it passes and no policy takes part in it, otherwise undefined. `isChunked`: the
   * response has no length that would have to change.
   */
  pass(
    status: number,
    header: (name: string) => string | undefined,
    isChunked: boolean,
  ): PassingBody | undefined {
    const isFailed = status >= 400
    const isRead = isFailed && (this.isFinal || this.#call.guardsErrors === true)
    if (!this.#isPassThrough || this.#isEdited || isRead) return undefined
    const isReadable = status >= 200 && status < 300 && !isCoding(header('content-encoding'))
    if (!isReadable) return AS_IT_IS
    if (isEventType(header('content-type'))) {
      if (!isChunked) return undefined
      const stream = this.#openStream()
      return stream.settle === undefined ? this.#passStream(stream) : undefined
    }
    this.#isTapped = true
    return {
      write: (bytes) => {
        this.#keep(bytes)
        return bytes
      },
      end: () => NO_BYTES,
    }
  }

  /** Whether a response with a success status may contain an error. */
  mayBeError(status: number, header: (name: string) => string | undefined): boolean {
    if (this.#isStored || status < 200 || status >= 300) return false
    const type = header('content-type') ?? ''
    const isText = isEventType(type) ? /^text/i.test(type) : /^application\/json\b/i.test(type)
    return isText && !isCoding(header('content-encoding'))
  }

  #openStream(): StreamTranslator {
    const stream = this.#call.openStream()
    this.#stream = stream
    this.isStream = true
    return stream
  }

  #passStream(stream: StreamTranslator): PassingBody {
    return {
      write: (bytes) => {
        const out = stream.push(bytes)
        if (this.firstTokenAt === 0 && stream.hasOutput) this.firstTokenAt = performance.now()
        return out
      },
      end: () => {
        this.#hasEnded = true
        return stream.end()
      },
    }
  }

  /** Policies on the way back see the output of this part. */
  get part(): PlacedPart {
    const response = (exchange: Exchange, draft: ResponseDraft) => this.#begin(exchange, draft)
    if ((this.#isPassThrough && !this.#isEdited) || this.#call.stream) {
      return { policy: undefined, response, body: { mode: 'stream', open: this.#open } }
    }
    const change = (bytes: Uint8Array, _: Exchange, draft?: ResponseDraft) =>
      draft === undefined || draft.isOwn ? undefined : this.#whole(bytes, draft)
    const whole = {
      mode: 'whole',
      maxBytes: MAX_WHOLE_RESPONSE,
      whenLonger: 'reject',
      change,
    } as const
    return { policy: undefined, response, body: whole }
  }

  #begin(_: Exchange, draft: ResponseDraft): Reply | undefined {
    if (draft.isOwn) return undefined
    if (this.isFinal && draft.status >= 400) {
      draft.change(headerEdit({ set: [{ name: 'x-should-retry', value: 'false' }] }))
    }
    if (this.#isPassThrough && !this.#readsError(draft)) return undefined
    if (isCoded(draft)) return UNREADABLE
    if (this.#isPassThrough) return undefined
    const isStream = isSuccess(draft) && this.#call.stream
    if (isStream && !isEventStream(draft)) {
      if (!/^application\/json\b/i.test(draft.headers.get('content-type') ?? '')) return UNREADABLE
      // An error, whatever its status: the client gets it as an error.
      draft.status = 502
      draft.change(headerEdit({ set: [{ name: 'content-type', value: 'application/json' }] }))
      return undefined
    }
    const type = isStream ? 'text/event-stream' : 'application/json'
    const set = [{ name: 'content-type', value: type }]
    if (this.#dropped.length > 0) set.push({ name: DROPPED, value: droppedText(this.#dropped) })
    draft.change(headerEdit({ set }))
    return undefined
  }

  /** A body that passes through or is translated piece by piece. */
  readonly #open = (
    _: Exchange,
    flow: BodyFlow,
    draft?: ResponseDraft,
  ): BodyTransformer | undefined => {
    if (draft === undefined || draft.isOwn) return undefined
    if (isSuccess(draft) && isEventStream(draft) && !isCoded(draft)) return this.#translate(flow)
    if (this.#isPassThrough && !this.#readsError(draft)) {
      this.#isTapped = isSuccess(draft) && !isCoded(draft)
      return undefined
    }
    return this.#collect(flow, draft)
  }

  #readsError(draft: ResponseDraft): boolean {
    return this.#call.guardsErrors === true && !isSuccess(draft)
  }

  #translate(flow: BodyFlow): BodyTransformer {
    const stream = this.#openStream()
    const out = new PiecewiseBody(flow, () => {
      if (this.firstTokenAt === 0 && stream.hasOutput) this.firstTokenAt = performance.now()
    })
    return {
      write: (bytes) => out.write(stream.take?.(bytes) ?? stream.push(bytes)),
      end: () => {
        this.#hasEnded = true
        out.end(() => stream.end(), stream.settle)
      },
      resume: () => out.resume(),
      abort: () => out.abort(),
    }
  }

  /** An error instead of a stream. */
  #collect(flow: BodyFlow, draft: ResponseDraft): BodyTransformer {
    const header = (name: string) => draft.headers.get(name)
    return {
      write: (bytes) => {
        this.#keep(bytes)
        if (this.#size > MAX_WHOLE_RESPONSE) flow.fail(TOO_LONG)
        return true
      },
      end: () => {
        const bytes = Buffer.concat(this.#pieces)
        this.#pieces = []
        flow.write(this.#call.error(draft.status, header, bytes).body)
        flow.end()
      },
      resume: () => flow.drained(),
      abort() {},
    }
  }

  #whole(bytes: Uint8Array, draft: ResponseDraft): BodyOutcome | Promise<BodyOutcome> {
    if (!isSuccess(draft)) {
      const header = (name: string) => draft.headers.get(name)
      const error = this.#call.error(draft.status, header, bytes)
      draft.status = error.status
      const own = error.headers.filter(([name]) => name !== 'x-request-id')
      draft.change(headerEdit({ set: own.map(([name, value]) => ({ name, value })) }))
      return error.body
    }
    const { responseLater } = this.#call
    if (responseLater === undefined) return this.#finished(this.#call.response(bytes), draft)
    return responseLater(bytes).then((read) => this.#finished(read, draft))
  }

  #finished(read: Read<TranslatedResponse>, draft: ResponseDraft): BodyOutcome {
    if (!read.ok) {
      const { status, code } = read.error
      this.isRejected = status < 500 || code === 'guard_unavailable'
      return this.isRejected ? rejectedBy(read.error) : unreadable(read.error)
    }
    const { value } = read
    this.#summary = value
    this.#dropped = [...new Set([...this.#dropped, ...value.dropped])]
    const set = value.headers.map(([name, text]) => ({ name, value: text }))
    if (this.#dropped.length > 0) set.push({ name: DROPPED, value: droppedText(this.#dropped) })
    draft.change(headerEdit({ set }))
    return value.body
  }

  /** The read buffer is reused, so the bytes are copied. */
  #keep(bytes: Uint8Array): void {
    this.#size += bytes.length
    if (this.#size <= MAX_WHOLE) this.#pieces.push(Buffer.from(bytes))
  }
}

function isSuccess({ status }: ResponseDraft): boolean {
  return status >= 200 && status < 300
}

function isEventStream({ headers }: ResponseDraft): boolean {
  return isEventType(headers.get('content-type'))
}

function isEventType(type = ''): boolean {
  return /^(?:text\/event-stream|application\/vnd\.amazon\.eventstream)\b/i.test(type)
}

function isCoded({ headers }: ResponseDraft): boolean {
  return isCoding(headers.get('content-encoding'))
}

function isCoding(coding = ''): boolean {
  return !/^(?:identity)?$/i.test(coding.trim())
}

const AS_IT_IS: PassingBody = { write: (bytes) => bytes, end: () => NO_BYTES }

function unreadable({ message, code }: LlmError): Reply {
  return code === undefined ? { ...UNREADABLE, message } : { ...UNREADABLE, message, code }
}
