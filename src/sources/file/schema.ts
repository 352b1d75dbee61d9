import * as z from 'zod'
import { name } from '../../policies/schema.ts'
import { policiesSchema } from './policies.ts'
import { backendSchema } from './sections/backends.ts'
import { bindSchema } from './sections/binds.ts'
import { configSchema } from './sections/config.ts'
import { gatewaySchema } from './sections/gateways.ts'
import { llmSchema } from './sections/llm-schema.ts'
import { mcpSchema } from './sections/mcp-section.ts'
import { routeGroupSchema } from './sections/route-groups.ts'
import { routeSchema, tcpRouteSchema } from './sections/routes.ts'
import { targetedPolicySchema } from './sections/targeted.ts'
import { uiSchema } from './sections/ui.ts'

const list = <T extends z.ZodType>(schema: T, what: string) =>
  z.array(schema).optional().describe(what)

/**
 * The schema of the whole file, for editors and the reference. The file is read part by part, so
 * that one error neither hides others nor invalidates correct parts.
 */
export const fileSchema = z
  .strictObject({
    $schema: z.string().optional().describe('The URL of this JSON schema, for editors.'),
    config: configSchema.optional().describe('Process settings. Read once, at startup.'),
    gateways: z
      .record(name(), gatewaySchema)
      .optional()
      .describe(
        'Ports to listen on, by gateway name. Routes without `gateways` belong to `default`.',
      ),
    routes: list(routeSchema, 'HTTP routes.'),
    routeGroups: list(
      routeGroupSchema,
      'Groups of HTTP routes that other routes delegate to with `backends: [{ routeGroup: … }]`.',
    ),
    tcpRoutes: list(tcpRouteSchema, 'Routes for TCP and TLS listeners.'),
    backends: list(backendSchema, 'Backends that routes and policies reference by name.'),
    policies: list(targetedPolicySchema, 'Policies that name their own targets.'),
    frontendPolicies: policiesSchema(['frontend'], 'frontend')
      .optional()
      .describe('Policies for all connections.'),
    llm: llmSchema
      .optional()
      .describe(
        'Models by name and the providers that serve them. Shorthand for a route to a backend with providers.',
      ),
    mcp: mcpSchema.optional().describe('MCP servers. Shorthand for a route and its backend.'),
    ui: uiSchema
      .optional()
      .describe('The Admin UI on gateways, at the path `/ui/`, in addition to `config.adminAddr`.'),
    binds: list(bindSchema, 'An older form of `gateways` with the routes nested inside.'),
  })
  .describe('The configuration of Portcullis.')

export const TOP_LEVEL_KEYS: readonly string[] = Object.keys(fileSchema.shape)
