import * as z from 'zod'
import { PROVIDERS } from '../../protocols/llm/schema.ts'
import { labelSelector, object, port } from './metadata.ts'
import { objectBackendRef, parentRef } from './routes.ts'

/** The policies of a section are read one by one, so that one mistake spoils only one of them. */
const section = z.record(z.string(), z.unknown()).optional()

const target = {
  group: z.string(),
  kind: z.string(),
  sectionName: z.string().optional(),
  port: port().optional(),
}

export const proxyPolicy = object({
  spec: z.strictObject({
    targetRefs: z.array(z.strictObject({ ...target, name: z.string() })).optional(),
    targetSelectors: z
      .array(z.strictObject({ ...target, matchLabels: z.record(z.string(), z.string()) }))
      .optional(),
    frontend: section,
    traffic: section,
    backend: section,
  }),
})

export type ProxyPolicyObject = z.output<typeof proxyPolicy>

const provider = z.strictObject({
  name: z.string(),
  provider: z.strictObject(
    Object.fromEntries(PROVIDERS.map(({ name, options }) => [name, options])),
  ),
  hostOverride: z.string().optional(),
  pathOverride: z.string().optional(),
  pathPrefix: z.string().optional(),
  tokenize: z.boolean().optional(),
  policies: section,
})

export type ProviderSpec = z.output<typeof provider>

const staticServer = z.strictObject({
  host: z.string().optional(),
  backendRef: objectBackendRef.optional(),
  port: port().optional(),
  path: z.string().optional(),
  protocol: z.enum(['StreamableHTTP', 'SSE']).default('StreamableHTTP'),
  policies: section,
})

const mcp = z.strictObject({
  targets: z.array(
    z.strictObject({
      name: z.string(),
      static: staticServer.optional(),
      selector: z
        .strictObject({ namespaces: labelSelector.optional(), services: labelSelector.optional() })
        .optional(),
    }),
  ),
  sessionRouting: z.enum(['Stateful', 'Stateless']).default('Stateful'),
  prefixMode: z.enum(['Conditional', 'Always', 'Never']).default('Conditional'),
  failureMode: z.enum(['FailClosed', 'FailOpen']).default('FailClosed'),
  dnsRebindingProtection: z.boolean().default(false),
})

export type McpSpec = z.output<typeof mcp>

export const proxyBackend = object({
  spec: z.strictObject({
    ai: z
      .strictObject({
        provider: provider.optional(),
        groups: z.array(z.strictObject({ providers: z.array(provider).min(1) })).optional(),
      })
      .optional(),
    mcp: mcp.optional(),
    static: z
      .strictObject({
        host: z.string().optional(),
        port: port().optional(),
        unixPath: z.string().optional(),
      })
      .optional(),
    dynamicForwardProxy: z.strictObject({}).optional(),
    a2a: z.strictObject({ host: z.string(), port: port() }).optional(),
    policies: section,
  }),
})

export type ProxyBackendObject = z.output<typeof proxyBackend>

/** What it says of models is not served: only where it belongs is read. */
export const proxyModel = object({
  spec: z.looseObject({ parentRefs: z.array(parentRef).default([]) }),
})

export const proxyParameters = object({ spec: z.unknown().optional() })
