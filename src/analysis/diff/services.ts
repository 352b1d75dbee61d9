import type { ValidPolicy } from '../../model/policy.ts'
import {
  calledService,
  type Guardrails,
  rejectsResponses,
} from '../../policies/guardrails/schema.ts'
import { kindsThat } from '../../reach/kinds.ts'
import type { Entry } from './entries.ts'

const ASKING = kindsThat(({ callsService }) => callsService)

/**
 * The policies on a way that call a service or guard responses, by name and as a phrase. They may
 * reject requests that no rule denies, and whether they do is unknown before the request is sent.
 */
export function servicesCalled({ points, where }: Pick<Entry, 'points' | 'where'>): {
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

/** The first policy on a way that decides after its rules and is not a rule, as a phrase. */
export function decidingLater({
  points,
  where,
}: Pick<Entry, 'points' | 'where'>): string | undefined {
  const kinds = points.flatMap(({ effective }) => [...effective.keys()])
  const found = kinds.find((kind) => LATER.has(kind))
  if (found !== undefined) return `the result of \`${found}\``
  const isAnyModel = where.backend?.kind === 'ai' && where.backend.models === undefined
  if (isAnyModel) return 'whether it is a call that a provider can serve'
  return where.backend?.kind === 'dynamic' ? 'the address that it names' : undefined
}

const LATER = kindsThat(
  ({ callsService, identifies, checksMessages }) =>
    checksMessages || (callsService && identifies.length === 0),
)

/** An address that a request itself names must resolve, and must not be this machine. */
function addressOf({ backend }: Entry['where']): readonly Pick<ValidPolicy, 'kind' | 'policy'>[] {
  if (backend?.kind !== 'dynamic') return []
  return [{ kind: 'the address', policy: `backend:${backend.name}` }]
}

function isAsking({ kind, value }: ValidPolicy): boolean {
  if (kind === 'guardrails') {
    const guards = value as Guardrails
    return calledService(guards) !== undefined || rejectsResponses(guards)
  }
  return ASKING.has(kind)
}
