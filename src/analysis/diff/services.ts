import { kindsThat } from '../../reach/kinds.ts'
import type { Entry } from './entries.ts'

const KINDS = kindsThat(({ asksService, identifies }) => asksService && identifies.length > 0)

/**
 * The policies on a way that ask a service, by their names and in words: it may turn away what no
 * rule does, and what it says is known to nobody before it is asked.
 */
export function servicesAsked({ points }: Pick<Entry, 'points'>): {
  readonly services: readonly string[]
  readonly asks: string
} {
  const asking = points.flatMap(({ effective }) =>
    [...KINDS].flatMap((kind) => effective.get(kind) ?? []),
  )
  const asks = new Set(asking.map(({ kind, policy }) => `${kind} of \`${policy}\``))
  return {
    services: [...new Set(asking.map(({ policy }) => policy))],
    asks: [...asks].join(' and '),
  }
}
