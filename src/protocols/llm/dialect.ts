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

/** One vendor's language: its endpoints, its bodies and streams, its errors, its way to count. */
export interface Dialect {
  readonly name: DialectName
  /** Which call a client makes by this method and path, without the query; undefined: none. */
  recognize(method: string, path: string): Endpoint | undefined
  /** Where a call goes below the provider's base path when bytes pass. */
  pathOf(endpoint: Endpoint, model: string): string
  /** What rules and logs read of a request; for dialects that are only passed on, too. */
  describe(bytes: Uint8Array, endpoint: Endpoint, parsed?: ParsedBody): Read<RequestSummary>
  /** Tokens of a whole response; undefined: it names none. */
  usageOf(bytes: Uint8Array): ResponseSummary
  /** The same for a stream that passes by. It never changes or holds a byte. */
  tap(): StreamTap
  /** What the model wrote, for each choice; absent: a response has one, which `provider` reads. */
  choicesOf?(bytes: Uint8Array): readonly string[]
  /** What the gateway says itself, and an error of another vendor. */
  writeError(error: LlmError): WireError
  /** After the status has been sent; nothing may follow it. */
  writeStreamError(error: LlmError): Uint8Array
  /** Absent: clients of this dialect reach only providers that speak it. */
  readonly client?: ClientHalf
  /** Absent: providers of this dialect are reached only by clients that speak it. */
  readonly provider?: ProviderHalf
}

/** `state`: what a provider has stored for a client is read or changed. */
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
  /** Where the path names the model. */
  readonly model?: string
  /** Where the path says whether to stream. */
  readonly stream?: boolean
  /** The word in the path, for dialects that have one. */
  readonly call?: string
  /** What a path names that is stored; absent with `state`: nothing that is known. */
  readonly state?: StatePath
}

export type Read<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: LlmError }

/** What somebody has parsed of the same bytes, as `parseJson` would have. */
export type ParsedBody = Readonly<Record<string, unknown>>

/** Cheap to make: nothing is translated. `body` is the parsed request, with every field. */
export interface RequestSummary {
  readonly model: string
  readonly stream: boolean
  readonly body: Readonly<Record<string, unknown>>
}

export interface ResponseSummary {
  readonly model?: string | undefined
  readonly id?: string | undefined
  readonly usage?: Usage | undefined
  /** What the model wrote; undefined: nothing, or nobody wants to know. */
  readonly completion?: readonly string[] | undefined
}

export interface StreamTap extends ResponseSummary {
  /** Something that the model wrote has passed, so that the time to the first token is known. */
  readonly hasOutput: boolean
  /** The provider's last event has passed. */
  readonly isComplete: boolean
  /** An error inside the stream. */
  readonly error?: LlmError | undefined
  /** Whole events in which there is nothing to be learned: they need not be pushed. */
  isIdle?(bytes: Uint8Array): boolean
  push(bytes: Uint8Array): void
  end(): void
}

/** What a dialect needs so that clients who speak it can be served by another. */
export interface ClientHalf {
  readRequest(bytes: Uint8Array, context: ReadContext): Read<NeutralRequest>
  writeResponse(response: NeutralResponse, request: NeutralRequest): WireResponse
  writeStream(request: NeutralRequest): StreamWriter
}

/** What a dialect needs so that its providers can serve clients who speak another. */
export interface ProviderHalf {
  /** How long a tool's name may be; longer ones are shortened on the way and restored. */
  readonly maxToolName: number
  writeRequest(request: NeutralRequest, options: WriteOptions): Read<WireRequest>
  readResponse(bytes: Uint8Array, maker: string): Read<NeutralResponse>
  readStream(maker: string): StreamReader
  readError(status: number, header: HeaderLookup, bytes: Uint8Array): LlmError
}

export type HeaderLookup = (name: string) => string | undefined

export interface ReadContext {
  /** Absent: the bytes are parsed. */
  readonly parsed?: ParsedBody | undefined
  /** Who made a signature that bears no mark of ours: the provider that speaks this dialect. */
  readonly maker: string
  /** Seconds since 1970. */
  readonly now: number
}

export interface WriteOptions {
  /** The model as the provider calls it. */
  readonly model: string
  readonly stream: boolean
  /** Its own signatures may go back to it, and no others. */
  readonly maker: string
  /** The most that the model can write, where the catalog knows; some dialects must send a limit. */
  readonly maxOutputTokens?: number | undefined
}

export interface WireRequest {
  /** Below the provider's base path, with its query: `/chat/completions`, `/models/m:generateContent`. */
  readonly path: string
  readonly headers: readonly Header[]
  readonly body: Uint8Array
  /** What the provider cannot be told, by the client's names. */
  readonly dropped: readonly string[]
}

export interface WireResponse {
  readonly headers: readonly Header[]
  readonly body: Uint8Array
  readonly dropped: readonly string[]
}

/** Bytes of a provider's stream in, events out. Bytes may be split anywhere. */
export interface StreamReader {
  /** What came that no event can say. */
  readonly dropped: readonly string[]
  push(bytes: Uint8Array): readonly StreamEvent[]
  /** The body is over. Whatever was not finished by then is an error event. */
  end(): readonly StreamEvent[]
}

/** Events in, bytes of the client's dialect out. */
export interface StreamWriter {
  readonly headers: readonly Header[]
  readonly dropped: readonly string[]
  push(event: StreamEvent): Uint8Array
}

export function defineDialect(dialect: Dialect): Dialect {
  return dialect
}
