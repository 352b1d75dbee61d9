import type { ValidPolicy } from '../../model/policy.ts'
import { calledService, type Guardrails } from '../../policies/guardrails/schema.ts'
import { kindsThat } from '../../reach/kinds.ts'
import type { Entry } from './entries.ts'

const ASKING = kindsThat(({ asksService }) => asksService)

/**
 * The policies on a way that ask a service, by their names and in words: it may turn away what no
 * rule does, and what it says is known to nobody before it is asked.
 */
export function servicesAsked({ points }: Pick<Entry, 'points'>): {
  readonly services: readonly string[]
  readonly asks: string
} {
  const asking = points.flatMap(({ effective }) => [...effective.values()].flat().filter(isAsking))
  const asks = new Set(asking.map(({ kind, policy }) => `${kind} of \`${policy}\``))
  return {
    services: [...new Set(asking.map(({ policy }) => policy))],
    asks: [...asks].join(' and '),
  }
}

function isAsking({ kind, value }: ValidPolicy): boolean {
  if (kind === 'guardrails') return calledService(value as Guardrails) !== undefined
  return ASKING.has(kind)
}
