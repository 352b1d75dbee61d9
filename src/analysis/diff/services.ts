import type { Entry } from './entries.ts'

/**
 * The policies on a way that ask a service, by their names: it may turn away what no rule does, and
 * what it says is known to nobody before it is asked.
 */
export function servicesAsked({ points }: Pick<Entry, 'points'>): readonly string[] {
  const asking = points.flatMap(({ effective }) => effective.get('extAuthz') ?? [])
  return [...new Set(asking.map(({ policy }) => policy))]
}

export function servicesText(services: readonly string[]): string {
  return services.map((name) => `extAuthz of \`${name}\``).join(' and ')
}
