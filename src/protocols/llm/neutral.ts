import type { LlmError } from './error.ts'
import type { Usage } from './usage.ts'

/*
 * The neutral form: every dialect is read into it and written from it, so N dialects need N readers
 * and N writers. `dropped` lists what gets lost: when a dialect is read, fields without a place in
 * this form; when one is written, fields without a place in that dialect.
 */

export interface NeutralRequest {
  readonly model: string
  readonly stream: boolean
  /** System prompts before the first other message, in order. */
  readonly system: readonly TextPart[]
  readonly messages: readonly Message[]
  readonly tools: readonly Tool[]
  readonly toolChoice?: ToolChoice | undefined
  /** If false, one tool call at a time. */
  readonly parallelTools?: boolean | undefined
  readonly maxTokens?: number | undefined
  readonly temperature?: number | undefined
  readonly topP?: number | undefined
  readonly topK?: number | undefined
  readonly stop: readonly string[]
  readonly format?: OutputFormat | undefined
  readonly reasoning?: Reasoning | undefined
  readonly presencePenalty?: number | undefined
  readonly frequencyPenalty?: number | undefined
  readonly seed?: number | undefined
  /** An opaque ID of the end user. */
  readonly user?: string | undefined
  readonly serviceTier?: string | undefined
  /** `low`, `medium`, `high`. */
  readonly verbosity?: string | undefined
  readonly promptCacheKey?: string | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
  /** The client requested usage in a stream. */
  readonly streamUsage: boolean
  /** In seconds since 1970, for dialects whose responses have a timestamp. */
  readonly receivedAt: number
  /** Fields of the client's request that no other dialect can express, by their names there. */
  readonly dropped: readonly string[]
}

/** Tool results are in user messages; `system` only after the first other message. */
export interface Message {
  readonly role: 'user' | 'assistant' | 'system'
  readonly parts: readonly Part[]
}

export type Part =
  | TextPart
  | MediaPart
  | ToolCallPart
  | ToolResultPart
  | ReasoningPart
  | RefusalPart

export interface TextPart {
  readonly kind: 'text'
  readonly text: string
  readonly cache?: CacheMark | undefined
}

export interface RefusalPart {
  readonly kind: 'refusal'
  readonly text: string
}

/** The provider may cache the prompt up to here. */
export interface CacheMark {
  readonly ttl?: '5m' | '1h' | undefined
}

export interface MediaPart {
  readonly kind: 'image' | 'document' | 'audio'
  readonly source: MediaSource
  readonly name?: string | undefined
  /** OpenAI's `detail` of images. */
  readonly detail?: string | undefined
  readonly cache?: CacheMark | undefined
}

export type MediaSource =
  | { readonly kind: 'base64'; readonly mediaType: string; readonly data: string }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'text'; readonly text: string }

export interface ToolCallPart {
  readonly kind: 'toolCall'
  readonly id: string
  readonly name: string
  /** JSON as a string, as the model wrote it: it may be empty or broken. */
  readonly arguments: string
  readonly cache?: CacheMark | undefined
}

export interface ToolResultPart {
  readonly kind: 'toolResult'
  readonly id: string
  readonly parts: readonly (TextPart | MediaPart)[]
  readonly isError: boolean
  readonly cache?: CacheMark | undefined
}

export interface ReasoningPart {
  readonly kind: 'reasoning'
  readonly text: string
  readonly signature?: Signature | undefined
  /** Encrypted by the provider: there is no text, and `signature` has all of it. */
  readonly isRedacted: boolean
}

/** Opaque, and usable only by the provider that made it. */
export interface Signature {
  readonly maker: string
  readonly value: string
}

export interface Tool {
  readonly name: string
  readonly description?: string | undefined
  /** The JSON Schema of the arguments; absent for a tool without arguments. */
  readonly schema?: JsonObject | undefined
  readonly strict?: boolean | undefined
  readonly cache?: CacheMark | undefined
  /** It accepts free text: written as a function with one string argument, `input`. */
  readonly isCustom?: boolean | undefined
}

export type ToolChoice =
  | { readonly kind: 'auto' | 'none' | 'any' }
  | { readonly kind: 'tool'; readonly name: string }

export type OutputFormat =
  | { readonly kind: 'json' }
  | {
      readonly kind: 'schema'
      readonly name: string
      readonly description?: string | undefined
      readonly schema: JsonObject
      readonly strict?: boolean | undefined
    }

export interface Reasoning {
  readonly mode: 'enabled' | 'adaptive' | 'disabled'
  /** none, minimal, low, medium, high, xhigh, max. */
  readonly effort?: string | undefined
  readonly budget?: number | undefined
  /** The client wants to see the reasoning. */
  readonly isVisible?: boolean | undefined
}

export type JsonObject = { readonly [name: string]: unknown }

export type FinishReason = 'stop' | 'stopSequence' | 'length' | 'toolCalls' | 'contentFilter'

export interface NeutralResponse {
  readonly id: string
  readonly model: string
  readonly parts: readonly Part[]
  readonly finish: FinishReason
  readonly stopSequence?: string | undefined
  readonly usage?: Usage | undefined
  readonly dropped: readonly string[]
}

/**
 * A response piece by piece. A block is one part of it; deltas of several blocks may be
 * interleaved, and blocks begin in ascending order.
 */
export type StreamEvent =
  | { readonly kind: 'start'; readonly id: string; readonly model: string; readonly usage?: Usage }
  | { readonly kind: 'blockStart'; readonly block: number; readonly part: BlockStart }
  /** More of the block's text, or of a tool call's arguments. */
  | { readonly kind: 'delta'; readonly block: number; readonly text: string }
  | { readonly kind: 'signature'; readonly block: number; readonly signature: Signature }
  | { readonly kind: 'blockEnd'; readonly block: number }
  | { readonly kind: 'usage'; readonly usage: Usage }
  | { readonly kind: 'finish'; readonly reason: FinishReason; readonly stopSequence?: string }
  /** An event of the provider that keeps the connection alive. */
  | { readonly kind: 'ping' }
  /** The stream is broken; nothing follows. */
  | { readonly kind: 'error'; readonly error: LlmError }
  /** The provider's last event arrived; nothing follows. */
  | { readonly kind: 'end' }

export type BlockStart =
  | { readonly kind: 'text' | 'refusal' }
  | { readonly kind: 'reasoning'; readonly isRedacted: boolean }
  | { readonly kind: 'toolCall'; readonly id: string; readonly name: string }
