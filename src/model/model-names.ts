import type { AiModel } from './backend.ts'

/** A pattern has a `*` at one end, or none. */
export function matchesModel(pattern: string, name: string): boolean {
  if (pattern.endsWith('*')) return name.startsWith(pattern.slice(0, -1))
  if (pattern.startsWith('*')) return name.endsWith(pattern.slice(1))
  return pattern === name
}

/** The models that serve the name: the most specific first, then in their original order. */
export function matchingModels(models: readonly AiModel[], name: string): readonly AiModel[] {
  const own = models.filter((model) => matchesModel(model.name, name))
  return own.sort((a, b) => weightOf(b.name) - weightOf(a.name))
}

function weightOf(pattern: string): number {
  return pattern.includes('*') ? pattern.length - 1 : Number.MAX_SAFE_INTEGER
}
