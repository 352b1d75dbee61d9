import type { Kind } from '../forms/schema.ts'

/** The form of a kind in a file: by name, as a list, or as a single section. */
export type KindShape = 'record' | 'list' | 'single'

const SHAPES: Readonly<Record<Kind, KindShape>> = {
  gateways: 'record',
  routes: 'list',
  routeGroups: 'list',
  tcpRoutes: 'list',
  backends: 'list',
  policies: 'list',
  frontendPolicies: 'single',
  llm: 'single',
  mcp: 'single',
  ui: 'single',
}

export const KINDS = Object.keys(SHAPES) as readonly Kind[]

export function isKind(kind: string): kind is Kind {
  return Object.hasOwn(SHAPES, kind)
}

export function shapeOfKind(kind: Kind): KindShape {
  return SHAPES[kind]
}

/** The name that the API gives to an item of a list; undefined if it has none. */
export function nameIn(value: unknown): string | undefined {
  const { name, namespace, ruleName } = (value ?? {}) as Readonly<Record<string, unknown>>
  if (typeof name === 'object' && name !== null) return nameIn(name)
  if (typeof name !== 'string' || name === '') return undefined
  const own = typeof namespace === 'string' ? `${namespace}/${name}` : name
  return typeof ruleName === 'string' ? `${own}#${ruleName}` : own
}
