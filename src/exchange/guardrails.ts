/** Guards that a call to a model passes, as the policy has them; who makes the call reads them. */
export interface AttachedGuardrails {
  readonly policy: string
  readonly value: unknown
  /** A `CallWebhook` for each guard in `value` that is a service. */
  readonly webhooks: ReadonlyMap<unknown, unknown>
}

export const NO_GUARDRAILS: readonly AttachedGuardrails[] = []
