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
 * From one dialect to another and back. Equal dialects: bytes pass, except for what the gateway was
 * told to change (the model), and only usage is read.
 */
export interface Translator {
  readonly client: DialectName
  readonly provider: DialectName
  readonly isPassThrough: boolean
  /** An error is to be sent to the client, in its own dialect: what cannot be translated is a 400. */
  translate(bytes: Uint8Array, options: TranslateOptions): Read<TranslatedCall>
}

export interface TranslateOptions {
  /** What the client called; absent: the dialect's own call that makes a response. */
  readonly endpoint?: Endpoint | undefined
  /** What somebody has read of the same bytes; absent: they are read. */
  readonly described?: RequestSummary | undefined
  /** The bytes are a form, which passes but for the model; absent: JSON. */
  readonly form?: FormBody | undefined
  /** The model as the provider calls it; absent: as the client named it. */
  readonly model?: string | undefined
  /** The provider's name in the configuration. Signatures of reasoning go back only to their maker. */
  readonly maker: string
  readonly maxOutputTokens?: number | undefined
  /** For what the model writes; of translated calls alone. */
  readonly guards?: readonly Guard[] | undefined
  /** Ids of what the provider stores, where bytes pass; absent: as they are. */
  readonly state?: StateMaps | undefined
  /** What the model writes is kept, as far as there is room for it. */
  readonly keepsCompletion?: boolean | undefined
  /** Seconds since 1970; absent: now. */
  readonly now?: number | undefined
}

/** Ids as the provider and as the client know them. */
export interface StateMaps {
  readonly toProvider: MapId
  readonly toClient: MapId
  /** Of an endpoint whose path names what is stored. */
  readonly path: string | undefined
  /** The request names something that is stored. */
  readonly hasIds: boolean
}

/** One request at one provider. */
export interface TranslatedCall {
  /** Absent where bytes pass. */
  readonly neutral?: NeutralRequest
  readonly request: WireRequest
  /** The client asked for a stream, and so is the provider. */
  readonly stream: boolean
  /** A whole response with status 2xx, of a call whose responses no guard looks at. */
  response(bytes: Uint8Array): Read<TranslatedResponse>
  /** The same with guards, which take their time; absent: there are none. */
  readonly responseLater?: (bytes: Uint8Array) => Promise<Read<TranslatedResponse>>
  /** What the model wrote, of a response whose bytes pass; absent: nobody wants to know. */
  readonly completionOf?: ((bytes: Uint8Array) => readonly string[] | undefined) | undefined
  /** Any other response of the provider, in the client's dialect. */
  error(status: number, header: HeaderLookup, bytes: Uint8Array): WireError
  /** A streamed response with status 2xx. */
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
  /** The provider finished properly. */
  readonly isComplete: boolean
  readonly error?: LlmError | undefined
  /** What the client is to get now; often the same bytes, and empty where there is nothing yet. */
  push(bytes: Uint8Array): Uint8Array
  /**
   * The same for bytes that may make much work: then piece by piece, and between two pieces others
   * may have their turn. Absent: none do.
   */
  readonly take?: (bytes: Uint8Array) => Uint8Array | Generator<Uint8Array>
  /** The provider's body is over: what remains, or an error where it is over too early. */
  end(): Uint8Array
  /** After `end`, what waited for guards; absent: nothing did. */
  readonly settle?: () => Promise<Generator<Uint8Array>>
  /** The gateway gives up: an error in the client's dialect, without a clean end. */
  abort(error: LlmError): Uint8Array
}
