import type { Exchange } from './exchange.ts'

/** One text of a request or a response, and who wrote it. */
export interface GuardedMessage {
  readonly role: string
  readonly content: string
}

export type WebhookVerdict =
  | { readonly kind: 'passed' }
  /** As many as there were messages, in their order. */
  | { readonly kind: 'masked'; readonly texts: readonly string[] }
  | { readonly kind: 'rejected'; readonly status?: number; readonly message?: string }
  | { readonly kind: 'failed'; readonly detail: string }

/** Never throws. */
export type CallWebhook = (
  exchange: Exchange,
  phase: 'request' | 'response',
  messages: readonly GuardedMessage[],
) => Promise<WebhookVerdict>
