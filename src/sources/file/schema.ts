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
import { uiSchema } from './sections/special.ts'
import { targetedPolicySchema } from './sections/targeted.ts'

const list = <T extends z.ZodType>(schema: T, what: string) =>
  z.array(schema).optional().describe(what)

/**
 * The whole file, for editors and for the reference. It is read part by part, so that one
 * mistake does not hide the others, and does not take down what is right.
 */
export const fileSchema = z
  .strictObject({
    $schema: z.string().optional().describe('Where editors find this schema.'),
    config: configSchema.optional().describe('The process itself; read at the start.'),
    gateways: z
      .record(name(), gatewaySchema)
      .optional()
      .describe('Where to listen, by name. Routes that name none belong to `default`.'),
    routes: list(routeSchema, 'HTTP routes.'),
    routeGroups: list(
      routeGroupSchema,
      'Groups of HTTP routes, to which other routes delegate with `backends: [{ routeGroup: … }]`.',
    ),
    tcpRoutes: list(tcpRouteSchema, 'Routes for TCP and TLS listeners.'),
    backends: list(backendSchema, 'Backends that routes and policies refer to by name.'),
    policies: list(targetedPolicySchema, 'Policies that say themselves what they are for.'),
    frontendPolicies: policiesSchema(['frontend'], 'frontend')
      .optional()
      .describe('Policies for all connections.'),
    llm: llmSchema
      .optional()
      .describe(
        'Models by name, and who serves them: short for a route to a backend of providers.',
      ),
    mcp: mcpSchema.optional().describe('MCP servers in short: a route and its backend.'),
    ui: uiSchema.optional().describe('The Admin UI on a gateway. Checked, and not served yet.'),
    binds: list(bindSchema, 'An older form of `gateways`, with the routes inside.'),
  })
  .describe('The configuration of Portcullis.')

export const TOP_LEVEL_KEYS: readonly string[] = Object.keys(fileSchema.shape)
