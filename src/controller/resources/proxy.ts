import * as z from 'zod'
import { PROVIDERS } from '../../protocols/llm/schema.ts'
import { labelSelector, object, port } from './metadata.ts'
import { objectBackendRef, parentRef } from './routes.ts'

/** The policies of a section are read one by one, so that an error affects only one of them. */
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

const configMapRef = (key: string) =>
  z.strictObject({ name: z.string(), key: z.string().default(key) })

const serverAddress = {
  host: z.string().optional(),
  backendRef: objectBackendRef.optional(),
  port: port().optional(),
  path: z.string().optional(),
}

const staticServer = z.strictObject({
  ...serverAddress,
  protocol: z.enum(['StreamableHTTP', 'SSE']).default('StreamableHTTP'),
  policies: section,
})

const apiServer = z.strictObject({
  ...serverAddress,
  schema: z.strictObject({
    configMapRef: configMapRef('openapi.yaml').optional(),
    url: z.string().optional(),
  }),
  policies: section,
})

const mcp = z.strictObject({
  targets: z.array(
    z.strictObject({
      name: z.string(),
      static: staticServer.optional(),
      openapi: apiServer.optional(),
      selector: z
        .strictObject({ namespaces: labelSelector.optional(), services: labelSelector.optional() })
        .optional(),
      pins: z
        .strictObject({
          mode: z.enum(['Enforce', 'Audit']).default('Enforce'),
          configMapRef: configMapRef('pins.json'),
        })
        .optional(),
    }),
  ),
  sessionRouting: z.enum(['Stateful', 'Stateless']).default('Stateful'),
  prefixMode: z.enum(['Conditional', 'Always', 'Never']).default('Conditional'),
  failureMode: z.enum(['FailClosed', 'FailOpen']).default('FailClosed'),
  dnsRebindingProtection: z.boolean().optional(),
})

export type McpSpec = z.output<typeof mcp>

export const proxyBackend = object({
  spec: z.strictObject({
    ai: z
      .strictObject({
        provider: provider.optional(),
        groups: z.array(z.strictObject({ providers: z.array(provider).min(1) })).optional(),
        allowEndpoints: z.array(z.string()).optional(),
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
    dynamicForwardProxy: z.strictObject({ target: z.string().optional() }).optional(),
    a2a: z.strictObject({ host: z.string(), port: port() }).optional(),
    policies: section,
  }),
})

export type ProxyBackendObject = z.output<typeof proxyBackend>

const choices = <T extends z.ZodRawShape>(own: T) =>
  z.strictObject({ targets: z.array(z.strictObject({ model: z.string(), ...own })).min(1) })

const when = { when: z.string().optional() }
const weight = { weight: z.int().min(0).default(1) }
const priority = { priority: z.int().min(0) }
/** They have the same members, so that any of them can be read without knowing which one it is. */
type Choices = z.ZodType<{
  readonly targets: readonly {
    readonly model: string
    readonly when?: string | undefined
    readonly weight?: number | undefined
    readonly priority?: number | undefined
  }[]
}>

export const proxyModel = object({
  spec: z.strictObject({
    parentRefs: z.array(parentRef).default([]),
    match: z.strictObject({ model: z.string().optional() }).default({}),
    visibility: z.enum(['Public', 'Internal']).default('Public'),
    provider: z.string().optional(),
    model: z.string().optional(),
    baseURL: z.string().optional(),
    azure: z.record(z.string(), z.string()).optional(),
    bedrock: z.strictObject({ region: z.string().default('us-east-1') }).optional(),
    vertexai: z.record(z.string(), z.string()).optional(),
    custom: z
      .strictObject({
        backendRef: objectBackendRef.optional(),
        formats: z.array(z.strictObject({ type: z.string(), path: z.string().optional() })),
      })
      .optional(),
    virtualModel: z
      .strictObject({
        weighted: (choices(weight) as Choices).optional(),
        failover: (choices(priority) as Choices).optional(),
        conditional: (choices(when) as Choices).optional(),
      })
      .optional(),
    policies: section,
  }),
})

export type ProxyModelObject = z.output<typeof proxyModel>

const anything = z.unknown().optional()

/** The deployment reads the contents, which its definition describes. */
export const proxyParameters = object({
  spec: z
    .strictObject({
      workload: anything,
      image: anything,
      env: anything,
      resources: anything,
      logging: anything,
      rawConfig: anything,
      shutdown: anything,
      istio: anything,
      modelCatalog: anything,
      deployment: anything,
      daemonSet: anything,
      service: anything,
      serviceAccount: anything,
      podDisruptionBudget: anything,
      horizontalPodAutoscaler: anything,
    })
    .optional(),
})

export type ProxyParametersObject = z.output<typeof proxyParameters>
