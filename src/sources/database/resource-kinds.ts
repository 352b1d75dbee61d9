import type * as z from 'zod'
import { policiesSchema } from '../file/policies.ts'
import { backendSchema } from '../file/sections/backends.ts'
import { gatewaySchema } from '../file/sections/gateways.ts'
import { llmSchema } from '../file/sections/llm-schema.ts'
import { mcpSchema } from '../file/sections/mcp-section.ts'
import { routeGroupSchema } from '../file/sections/route-groups.ts'
import { routeSchema, tcpRouteSchema } from '../file/sections/routes.ts'
import { uiSchema } from '../file/sections/special.ts'
import { targetedPolicySchema } from '../file/sections/targeted.ts'

/** What can be edited one by one: `config` belongs to the process, and `binds` is an older form. */
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

/** How a kind is written in a file: by name, as a list, or as one section. */
export type KindShape = 'record' | 'list' | 'single'

/** The id of a section that there is one of. */
export const SINGLE_ID = 'default'

/** Items of a list that have no name are called by their number. */
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

/** What a value of the kind must look like. */
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
