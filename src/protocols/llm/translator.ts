import type {
  DialectName,
  Endpoint,
  HeaderLookup,
  Read,
  RequestSummary,
  ResponseSummary,
  WireRequest,
} from './dialect.ts'
import type { Header, LlmError, WireError } from './error.ts'
import type { FormBody } from './form-body.ts'
import type { Guard } from './guards/guard-rule.ts'
import type { NeutralRequest } from './neutral.ts'
import type { MapId } from './state/state-edits.ts'

/**
 * Translates from one dialect to another and back. With equal dialects, bytes are passed through
 * except for configured changes (the model), and only usage is read.
 */
export interface Translator {
  readonly client: DialectName
  readonly provider: DialectName
  readonly isPassThrough: boolean
  /** Returns an error in the client's dialect if the call cannot be translated: status 400. */
  translate(bytes: Uint8Array, options: TranslateOptions): Read<TranslatedCall>
}

export interface TranslateOptions {
  /** The client's call; if absent, the dialect's own call that creates a response. */
  readonly endpoint?: Endpoint | undefined
  /** A summary of the same bytes, if they have already been read; if absent, they are read. */
  readonly described?: RequestSummary | undefined
  /** Set if the bytes are a form, which is passed through except for the model; if absent, JSON. */
  readonly form?: FormBody | undefined
  /** The provider's name for the model; if absent, the client's name. */
  readonly model?: string | undefined
  /** The provider's name in the configuration. Signatures are sent back only to their maker. */
  readonly maker: string
  readonly maxOutputTokens?: number | undefined
  /** Guards for the model's output; only for translated calls. */
  readonly guards?: readonly Guard[] | undefined
  /** IDs of stored objects in pass-through calls; if absent, they are unchanged. */
  readonly state?: StateMaps | undefined
  /** Records the model's output, up to a limit. */
  readonly keepsCompletion?: boolean | undefined
  /** In seconds since 1970; defaults to the current time. */
  readonly now?: number | undefined
}

/** Maps IDs between the provider and the client. */
export interface StateMaps {
  readonly toProvider: MapId
  readonly toClient: MapId
  /** The path of an endpoint whose path names a stored object. */
  readonly path: string | undefined
  /** True if the request refers to a stored object. */
  readonly hasIds: boolean
}

/** One request to one provider. */
export interface TranslatedCall {
  /** Absent for pass-through calls. */
  readonly neutral?: NeutralRequest
  readonly request: WireRequest
  /** True if the client requested a stream, which is then requested from the provider. */
  readonly stream: boolean
  /** Translates a whole response with status 2xx, for a call whose responses are not guarded. */
  response(bytes: Uint8Array): Read<TranslatedResponse>
  /** The same with guards, asynchronously; absent if there are none. */
  readonly responseLater?: (bytes: Uint8Array) => Promise<Read<TranslatedResponse>>
  /** Returns the model's text of a passed-through response; absent if it is not needed. */
  readonly completionOf?: ((bytes: Uint8Array) => readonly string[] | undefined) | undefined
  /** Translates any other response of the provider to the client's dialect. */
  error(status: number, header: HeaderLookup, bytes: Uint8Array): WireError
  /** Errors must be read, although successful responses pass. */
  readonly guardsErrors?: boolean
  /** Opens a streamed response with status 2xx. */
  openStream(): StreamTranslator
}

export interface TranslatedResponse extends ResponseSummary {
  readonly headers: readonly Header[]
  readonly body: Uint8Array
  readonly dropped: readonly string[]
}

export interface StreamTranslator extends ResponseSummary {
  readonly headers: readonly Header[]
  readonly dropped: readonly string[]
  readonly hasOutput: boolean
  /** True if the provider finished properly. */
  readonly isComplete: boolean
  readonly error?: LlmError | undefined
  /** Returns the bytes to send to the client now: often the same; empty if there are none yet. */
  push(bytes: Uint8Array): Uint8Array
  /**
   * The same for bytes that may take much work: then piece by piece, and other requests may get
   * their turn between two pieces. Absent if this never happens.
   */
  readonly take?: (bytes: Uint8Array) => Uint8Array | Generator<Uint8Array>
  /** Ends the provider's body: returns the rest, or an error if it ended too early. */
  end(): Uint8Array
  /** After `end`, returns output that was held back for guards; absent if none is held back. */
  readonly settle?: () => Promise<Generator<Uint8Array>>
  /** The gateway gives up: returns an error in the client's dialect, without a clean end. */
  abort(error: LlmError): Uint8Array
}
