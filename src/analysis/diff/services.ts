import type { ValidPolicy } from '../../model/policy.ts'
import { calledService, type Guardrails } from '../../policies/guardrails/schema.ts'
import { kindsThat } from '../../reach/kinds.ts'
import type { Entry } from './entries.ts'

const ASKING = kindsThat(({ asksService }) => asksService)

/**
 * The policies on a way that ask a service, by their names and in words: it may turn away what no
 * rule does, and what it says is known to nobody before it is asked.
 */
export function servicesAsked({ points, where }: Pick<Entry, 'points' | 'where'>): {
  readonly services: readonly string[]
  readonly asks: string
} {
  const called = points.flatMap(({ effective }) => [...effective.values()].flat().filter(isAsking))
  const asking: readonly Pick<ValidPolicy, 'kind' | 'policy'>[] = [...called, ...addressOf(where)]
  const asks = new Set(asking.map(({ kind, policy }) => `${kind} of \`${policy}\``))
  return {
    services: [...new Set(asking.map(({ policy }) => policy))],
    asks: [...asks].join(' and '),
  }
}

/** The first thing on a way that decides after its rules and is no rule, in words. */
export function decidingLater({
  points,
  where,
}: Pick<Entry, 'points' | 'where'>): string | undefined {
  const kinds = points.flatMap(({ effective }) => [...effective.keys()])
  const found = kinds.find((kind) => LATER.has(kind))
  if (found !== undefined) return `the result of \`${found}\``
  return where.backend?.kind === 'dynamic' ? 'the address that it names' : undefined
}

const LATER = kindsThat(
  ({ asksService, identifies, checksMessages }) =>
    checksMessages || (asksService && identifies.length === 0),
)

/** What a request names itself has to be found, and must not be this machine. */
function addressOf({ backend }: Entry['where']): readonly Pick<ValidPolicy, 'kind' | 'policy'>[] {
  if (backend?.kind !== 'dynamic') return []
  return [{ kind: 'the address', policy: `backend:${backend.name}` }]
}

function isAsking({ kind, value }: ValidPolicy): boolean {
  if (kind === 'guardrails') return calledService(value as Guardrails) !== undefined
  return ASKING.has(kind)
}
