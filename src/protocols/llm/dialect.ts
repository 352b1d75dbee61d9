import type { Header, LlmError, WireError } from './error.ts'
import type { NeutralRequest, NeutralResponse, StreamEvent } from './neutral.ts'
import type { StatePath } from './state/state-paths.ts'
import type { Usage } from './usage.ts'

export type DialectName =
  | 'completions'
  | 'responses'
  | 'messages'
  | 'gemini'
  | 'converse'
  | 'embeddings'
  | 'rerank'
  | 'other'

/** One vendor's language: its endpoints, bodies, streams and errors, and how it counts tokens. */
export interface Dialect {
  readonly name: DialectName
  /** Returns the call that a client makes with this method and path (without the query), if any. */
  recognize(method: string, path: string): Endpoint | undefined
  /** Returns the path below the provider's base path for a call that is passed through. */
  pathOf(endpoint: Endpoint, model: string): string
  /** Reads what rules and logs use of a request; also for dialects that are only passed through. */
  describe(bytes: Uint8Array, endpoint: Endpoint, parsed?: ParsedBody): Read<RequestSummary>
  /** Reads the tokens of a whole response; `usage` is undefined if it reports none. */
  usageOf(bytes: Uint8Array): ResponseSummary
  /** The same for a stream that passes through. It never changes or holds back a byte. */
  tap(): StreamTap
  /** Returns the model's text per choice. If absent, a response has one, which `provider` reads. */
  choicesOf?(bytes: Uint8Array): readonly string[]
  /** Writes an error of the gateway or of another vendor. */
  writeError(error: LlmError): WireError
  /** Writes an error after the status has been sent; nothing may follow it. */
  writeStreamError(error: LlmError): Uint8Array
  /** If absent, clients of this dialect reach only providers that speak it. */
  readonly client?: ClientHalf
  /** If absent, providers of this dialect are reached only by clients that speak it. */
  readonly provider?: ProviderHalf
}

/** `state`: the call reads or changes what a provider has stored for a client. */
export type Operation =
  | 'generate'
  | 'countTokens'
  | 'compact'
  | 'embed'
  | 'rerank'
  | 'other'
  | 'models'
  | 'state'

export interface Endpoint {
  readonly dialect: DialectName
  readonly operation: Operation
  /** Set if the path names the model. */
  readonly model?: string
  /** Set if the path says whether to stream. */
  readonly stream?: boolean
  /** The name of the call in the path, for dialects that have one. */
  readonly call?: string
  /** The stored object that the path names; with `state`, absent if it is unknown. */
  readonly state?: StatePath
}

export type Read<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: LlmError }

/** A body that a caller has already parsed, as `parseJson` would parse the same bytes. */
export type ParsedBody = Readonly<Record<string, unknown>>

/** Cheap to create: nothing is translated. `body` is the parsed request, with every field. */
export interface RequestSummary {
  readonly model: string
  readonly stream: boolean
  readonly body: Readonly<Record<string, unknown>>
}

export interface ResponseSummary {
  readonly model?: string | undefined
  readonly id?: string | undefined
  readonly usage?: Usage | undefined
  /** The text that the model wrote; undefined if there is none or it is not needed. */
  readonly completion?: readonly string[] | undefined
}

export interface StreamTap extends ResponseSummary {
  /** True once model output has passed, which determines the time to the first token. */
  readonly hasOutput: boolean
  /** True once the provider's last event has passed. */
  readonly isComplete: boolean
  /** An error inside the stream. */
  readonly error?: LlmError | undefined
  /** True for whole events that carry nothing of interest: they need not be pushed. */
  isIdle?(bytes: Uint8Array): boolean
  push(bytes: Uint8Array): void
  end(): void
}

/** What a dialect needs so that clients that speak it can be served by providers of another. */
export interface ClientHalf {
  readRequest(bytes: Uint8Array, context: ReadContext): Read<NeutralRequest>
  writeResponse(response: NeutralResponse, request: NeutralRequest): WireResponse
  writeStream(request: NeutralRequest): StreamWriter
}

/** What a dialect needs so that its providers can serve clients that speak another. */
export interface ProviderHalf {
  /** The max length of a tool name; longer names are shortened in requests and restored later. */
  readonly maxToolName: number
  writeRequest(request: NeutralRequest, options: WriteOptions): Read<WireRequest>
  readResponse(bytes: Uint8Array, maker: string): Read<NeutralResponse>
  readStream(maker: string): StreamReader
  readError(status: number, header: HeaderLookup, bytes: Uint8Array): LlmError
}

export type HeaderLookup = (name: string) => string | undefined

export interface ReadContext {
  /** If absent, the bytes are parsed. */
  readonly parsed?: ParsedBody | undefined
  /** The maker of signatures without our mark: the provider that speaks this dialect. */
  readonly maker: string
  /** In seconds since 1970. */
  readonly now: number
}

export interface WriteOptions {
  /** The provider's name for the model. */
  readonly model: string
  readonly stream: boolean
  /** Only this maker's signatures are sent back to it. */
  readonly maker: string
  /** The model's max output tokens, if the catalog knows them; some dialects require a limit. */
  readonly maxOutputTokens?: number | undefined
}

export interface WireRequest {
  /**
   * Below the provider's base path, with its query: `/chat/completions`,
   * `/models/m:generateContent`.
   */
  readonly path: string
  readonly headers: readonly Header[]
  readonly body: Uint8Array
  /** Fields that cannot be sent to the provider, by the client's names. */
  readonly dropped: readonly string[]
}

export interface WireResponse {
  readonly headers: readonly Header[]
  readonly body: Uint8Array
  readonly dropped: readonly string[]
}

/** Turns the bytes of a provider's stream, which may be split anywhere, into events. */
export interface StreamReader {
  /** Received fields that no event can express. */
  readonly dropped: readonly string[]
  push(bytes: Uint8Array): readonly StreamEvent[]
  /** Ends the body. Anything unfinished becomes an error event. */
  end(): readonly StreamEvent[]
}

/** Turns events into bytes of the client's dialect. */
export interface StreamWriter {
  readonly headers: readonly Header[]
  readonly dropped: readonly string[]
  push(event: StreamEvent): Uint8Array
}

export function defineDialect(dialect: Dialect): Dialect {
  return dialect
}
