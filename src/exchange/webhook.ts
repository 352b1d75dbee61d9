import type { Exchange } from './exchange.ts'

/** One message of a request or a response, with its role. */
export interface GuardedMessage {
  readonly role: string
  readonly content: string
}

export type WebhookVerdict =
  | { readonly kind: 'passed' }
  /** As many strings as there were messages, in the same order. */
  | { readonly kind: 'masked'; readonly texts: readonly string[] }
  | { readonly kind: 'rejected'; readonly status?: number; readonly message?: string }
  | { readonly kind: 'failed'; readonly detail: string }

/** Calls a guardrail webhook. Never throws. */
export type CallWebhook = (
  exchange: Exchange,
  phase: 'request' | 'response',
  messages: readonly GuardedMessage[],
) => Promise<WebhookVerdict>
