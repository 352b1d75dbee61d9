import type { CallWebhook } from '../../exchange/webhook.ts'
import type { Attachments, CompileContext, Part } from '../define.ts'
import type { Guardrails } from './schema.ts'
import { compileWebhook } from './webhook.ts'

/** Whoever makes the call reads and changes it: nobody else knows its language. */
export function compileGuardrails(
  policies: Attachments<Guardrails>,
  context: CompileContext,
): Part {
  const all = policies.map((one) => {
    const { request = [], response = [] } = one.value
    const webhooks = new Map<unknown, CallWebhook>()
    for (const guard of [...request, ...response]) {
      if (guard.webhook === undefined) continue
      webhooks.set(guard, compileWebhook(guard.webhook, one, context))
    }
    return { policy: one.policy, value: one.value, webhooks }
  })
  return {
    step: (exchange) => {
      exchange.guardrails = all
      return undefined
    },
  }
}
