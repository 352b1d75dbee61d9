import type { CallWebhook } from '../../exchange/webhook.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import type { Attachments, CompileContext, Part } from '../define.ts'
import { compileBedrockGuardrails } from './bedrock-guardrails.ts'
import { compileContentSafety } from './content-safety.ts'
import { compileModeration } from './moderation.ts'
import type { Guard, Guardrails } from './schema.ts'
import { compileWebhook } from './webhook.ts'

/** The code that makes the call applies the guards: no other part knows the protocol. */
export function compileGuardrails(
  policies: Attachments<Guardrails>,
  context: CompileContext,
): Part {
  const all = policies.map((one) => {
    const { request = [], response = [] } = one.value
    const webhooks = new Map<unknown, CallWebhook>()
    for (const [phase, guards] of Object.entries({ request, response })) {
      guards.forEach((guard, index) => {
        const call = compileService(guard, one, context, `${phase}[${index}]`)
        if (call !== undefined) webhooks.set(guard, call)
      })
    }
    return { policy: one, value: one.value, webhooks }
  })
  return {
    step: (exchange) => {
      exchange.guardrails = all
      return undefined
    },
  }
}

/** Undefined: the guard is not a service. */
function compileService(
  { webhook, openAIModeration, azureContentSafety, bedrockGuardrails }: Guard,
  policy: ValidPolicy,
  context: CompileContext,
  field: string,
): CallWebhook | undefined {
  if (webhook !== undefined) return compileWebhook(webhook, policy, context, `${field}.webhook`)
  if (openAIModeration !== undefined) return compileModeration(openAIModeration, policy, context)
  if (azureContentSafety !== undefined) {
    return compileContentSafety(azureContentSafety, policy, context)
  }
  if (bedrockGuardrails !== undefined) {
    return compileBedrockGuardrails(bedrockGuardrails, policy, context)
  }
  return undefined
}
