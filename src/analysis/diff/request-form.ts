import type { JsonObject } from '../../cel/values/value.ts'
import type { Api } from '../../protocols/llm/schema.ts'
import type { Condition } from '../symbolic/space.ts'

/**
 * Requests to model providers are of four forms, about which rules know different things: calls,
 * whose model rules can read; requests about what a call stored at its provider; requests that are
 * forwarded whatever the model is; and all others, which are denied if the model must be known.
 */
export interface RequestForm {
  readonly name: 'call' | 'stored' | 'open' | 'other'
  /** What is true of all of them. Without it, they are any requests. */
  readonly condition: Condition | undefined
  readonly shapes: readonly CallShape[]
  /** Names of models that lead to the provider, for examples. */
  readonly models?: readonly string[]
}

/** One kind of request to a backend of model providers, for examples. */
export interface CallShape {
  readonly method: string
  /** The end of its path. */
  readonly path: string
  /** Undefined for a request without a body. */
  readonly body?: (model: string, text: string) => JsonObject
  /** A model that the path names. */
  readonly model?: string
  readonly api?: Api
  /** Every path of the way is possible. */
  readonly isAnywhere?: true
  /** A model responds with tokens. */
  readonly isGeneration?: true
}
