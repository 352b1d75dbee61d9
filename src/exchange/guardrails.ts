/** Guards that a call to a model passes, as the policy has them; who makes the call reads them. */
export interface AttachedGuardrails {
  readonly policy: string
  readonly value: unknown
}

export const NO_GUARDRAILS: readonly AttachedGuardrails[] = []
