import type { PolicyPlace } from '../model/policy.ts'

/**
 * Guardrails that apply to a call to a model, as configured; read by the code that makes the call.
 */
export interface AttachedGuardrails {
  readonly policy: PolicyPlace
  readonly value: unknown
  /** A `CallWebhook` for each guard in `value` that is a service. */
  readonly webhooks: ReadonlyMap<unknown, unknown>
}

export const NO_GUARDRAILS: readonly AttachedGuardrails[] = []
