import type { ResourceSummary } from '../api/shapes.ts'

export interface Listed {
  readonly summary: ResourceSummary
  readonly value: unknown
}

const SINGLES = ['frontendPolicies', 'llm', 'mcp', 'ui']

/** Lists each resource with its part of the configuration; both are in file order. */
export function listResources(
  summaries: readonly ResourceSummary[],
  configuration: Readonly<Record<string, unknown>>,
): readonly Listed[] {
  const counts = new Map<string, number>()
  return summaries
    .filter(({ isHidden }) => !isHidden)
    .map((summary) => {
      const { kind, id } = summary
      const section = configuration[kind]
      const index = counts.get(kind) ?? 0
      counts.set(kind, index + 1)
      if (SINGLES.includes(kind)) return { summary, value: section }
      if (Array.isArray(section)) return { summary, value: section[index] }
      return { summary, value: (section as Record<string, unknown> | undefined)?.[id] }
    })
}
