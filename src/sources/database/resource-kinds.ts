import type * as z from 'zod'
import { policiesSchema } from '../file/policies.ts'
import { backendSchema } from '../file/sections/backends.ts'
import { gatewaySchema } from '../file/sections/gateways.ts'
import { llmSchema } from '../file/sections/llm-schema.ts'
import { mcpSchema } from '../file/sections/mcp-section.ts'
import { routeGroupSchema } from '../file/sections/route-groups.ts'
import { routeSchema, tcpRouteSchema } from '../file/sections/routes.ts'
import { targetedPolicySchema } from '../file/sections/targeted.ts'
import { uiSchema } from '../file/sections/ui.ts'

/** Kinds that can be edited individually: `config` belongs to the process, `binds` is older. */
export const RESOURCE_KINDS = [
  'gateways',
  'routes',
  'routeGroups',
  'tcpRoutes',
  'backends',
  'policies',
  'frontendPolicies',
  'llm',
  'mcp',
  'ui',
] as const

export type ResourceKind = (typeof RESOURCE_KINDS)[number]

/** The form of a kind in a file: by name, as a list, or as a single section. */
export type KindShape = 'record' | 'list' | 'single'

/** The id of a section that occurs only once. */
export const SINGLE_ID = 'default'

/** Unnamed items of a list are named by their index. */
export const UNNAMED: Readonly<Partial<Record<ResourceKind, string>>> = {
  routes: 'route',
  routeGroups: 'route-group',
  tcpRoutes: 'tcp-route',
  backends: 'backend',
  policies: 'policy',
}

export function shapeOf(kind: ResourceKind): KindShape {
  if (kind === 'gateways') return 'record'
  return UNNAMED[kind] === undefined ? 'single' : 'list'
}

export function isResourceKind(kind: string): kind is ResourceKind {
  return (RESOURCE_KINDS as readonly string[]).includes(kind)
}

/** The schema of a value of the kind. */
export function schemaOf(kind: ResourceKind): z.ZodType {
  return SCHEMAS[kind]()
}

let frontend: z.ZodType | undefined

const SCHEMAS: Readonly<Record<ResourceKind, () => z.ZodType>> = {
  gateways: () => gatewaySchema,
  routes: () => routeSchema,
  routeGroups: () => routeGroupSchema,
  tcpRoutes: () => tcpRouteSchema,
  backends: () => backendSchema,
  policies: () => targetedPolicySchema,
  frontendPolicies: () => (frontend ??= policiesSchema(['frontend'], 'frontend')),
  llm: () => llmSchema,
  mcp: () => mcpSchema,
  ui: () => uiSchema,
}
