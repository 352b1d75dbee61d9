import type { Origin } from '../src/diagnostics/diagnostic.ts'
import { originIn } from '../src/diagnostics/places.ts'

/** A copy in which rules have an origin, as policies do, to show where each of them is. */
export function withRuleOrigins(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(withRuleOrigins)
  const copy = Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, withRuleOrigins(member)]),
  )
  const { state, origin, value: own } = copy as Partial<Policy>
  if (state !== 'valid' || origin === undefined || !Array.isArray(own?.rules)) return copy
  const rules = own.rules.map((rule) =>
    typeof rule.field === 'string' ? { ...rule, origin: originIn(origin, rule.field) } : rule,
  )
  return { ...copy, value: { ...own, rules } }
}

interface Policy {
  readonly state: string
  readonly origin: Origin
  readonly value: { readonly rules?: readonly { readonly field?: string }[] }
}
