import type { Attachments, Part } from '../define.ts'
import type { Guardrails } from './schema.ts'

/** Whoever makes the call reads and changes it: nobody else knows its language. */
export function compileGuardrails(policies: Attachments<Guardrails>): Part {
  const all = policies.map(({ policy, value }) => ({ policy, value }))
  return {
    step: (exchange) => {
      exchange.guardrails = all
      return undefined
    },
  }
}
