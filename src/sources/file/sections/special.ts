import * as z from 'zod'
import type { JsonObject } from '../../../model/json.ts'
import type { SpecialSection } from '../../../model/model.ts'
import type { Section } from '../../../model/policy.ts'
import { anything, headerName, name, policySchema, port, secret } from '../../../policies/schema.ts'
import { originOf, valueAt } from '../document.ts'
import { policiesSchema, readPolicies } from '../policies.ts'
import { complain, parseAt, type Reading } from '../reading.ts'
import { UNSUPPORTED_POLICIES } from '../unsupported-keys.ts'
import { valueMatch } from './matches.ts'
import { mcpOptions, mcpTargets } from './mcp.ts'
import { listenerTls } from './tls.ts'

/** Sections for one protocol each; they are checked and kept, and served by its own part. */

const text = (what: string) => z.string().min(1).max(2048).optional().describe(what)
const json = (what: string) => z.record(z.string(), anything).optional().describe(what)
const gateways = z
  .union([name(), z.array(name()).min(1).max(64)])
  .optional()
  .describe('The gateways that it belongs to; `default` by default.')

const params = z
  .strictObject({
    model: text('The model to ask for.'),
    apiKey: secret().optional().describe('The key: the text or `{file}`.'),
    awsRegion: text('For Bedrock.'),
    vertexRegion: text('For Vertex AI.'),
    vertexProject: text('For Vertex AI.'),
    azureResourceName: text('For Azure.'),
    azureResourceType: text('For Azure.'),
    azureApiVersion: text('For Azure.'),
    azureProjectName: text('For Azure.'),
    baseUrl: text('Where the API is.'),
    hostOverride: text('host:port to use instead.'),
    pathOverride: text('The path to use instead.'),
    pathPrefix: text('What goes before the path.'),
    tokenize: z.boolean().prefault(false).describe('Counts tokens before the request is sent.'),
  })
  .meta({ id: 'llm-params' })

const provider = z
  .union([z.string().min(1).max(64), z.record(z.string(), anything)])
  .describe('Whom to ask: openAI, anthropic, …, `{custom}` or `{reference: name}`.')

const change = {
  defaults: json('Fields that are set where the request has none.'),
  overrides: json('Fields that are set whatever the request says.'),
  transformation: json('Fields that are computed before translation.'),
  finalTransformation: json('Fields that are computed after translation.'),
  requestHeaders: json('Changes of request headers.'),
  responseHeaders: json('Changes of response headers.'),
  backendTLS: json('TLS towards the provider.'),
  tls: json('The same as `backendTLS`.'),
  auth: json('Credentials for the provider.'),
  health: json('When the provider counts as ill.'),
  backendTunnel: json('A proxy on the way.'),
  promptCaching: json('Prompt caching.'),
}

const model = z.strictObject({
  id: text('An id of its own, where `name` is not unique.'),
  name: z.string().min(1).max(256).describe('What clients ask for; one `*` at an end is fine.'),
  visibility: z.enum(['public', 'internal']).optional().describe('Whether clients may ask for it.'),
  params: params.optional().describe('What the provider must be told.'),
  provider,
  passthrough: z.enum(['detect', 'opaque']).optional().describe('What is not understood.'),
  authorization: policySchema('authorization').optional().describe('Who may use it.'),
  guardrails: json('What is masked or refused.'),
  matches: z
    .array(
      z.strictObject({
        headers: z.array(valueMatch(headerName())).max(64).optional().describe('Headers.'),
      }),
    )
    .max(64)
    .optional()
    .describe('Requests that it is for.'),
  ...change,
})

const goal = { model: z.string().min(1).max(256).describe('A model of `models`.') }

const virtualModel = z.strictObject({
  name: z.string().min(1).max(256).describe('What clients ask for.'),
  routing: z
    .strictObject({
      weighted: z
        .strictObject({
          targets: z
            .array(
              z.strictObject({
                ...goal,
                weight: z.int().min(0).prefault(1).describe('Its share.'),
              }),
            )
            .min(1)
            .describe('The models to choose from.'),
        })
        .optional()
        .describe('By weight.'),
      failover: z
        .strictObject({
          targets: z
            .array(
              z.strictObject({
                ...goal,
                priority: z.int().min(0).describe('The lowest comes first.'),
              }),
            )
            .min(1)
            .describe('The models to choose from.'),
        })
        .optional()
        .describe('The next one when one fails.'),
      conditional: z
        .strictObject({
          targets: z
            .array(z.strictObject({ ...goal, when: text('An expression.') }))
            .min(1)
            .describe('The models to choose from.'),
        })
        .optional()
        .describe('The first whose condition is true.'),
    })
    .describe('How one of the models is chosen.'),
})

const SECTIONS: readonly Section[] = ['traffic', 'backend']

const unsupported = UNSUPPORTED_POLICIES.map((key) => {
  return [key, anything.optional().describe('Checked when it is served.')] as const
})

const sectionPolicies = policiesSchema(SECTIONS, 'route')
  .extend(Object.fromEntries(unsupported))
  .meta({ id: 'section-policies' })

const policies = (what: string) => sectionPolicies.optional().describe(`Policies for ${what}.`)

const shapes = {
  llm: {
    gateways,
    port: port().optional().describe('A port of its own.'),
    tls: listenerTls.optional().describe('TLS of that port.'),
    providers: z
      .array(
        z.strictObject({
          name: name().describe('What models refer to.'),
          provider,
          params: params.optional().describe('What it must be told.'),
          ...change,
        }),
      )
      .max(256)
      .optional()
      .describe('Providers that models refer to.'),
    models: z.array(model).max(10_000).describe('The models that are offered.'),
    virtualModels: z.array(virtualModel).max(1000).optional().describe('Names for choices.'),
  },
  mcp: {
    gateways,
    port: port().optional().describe('A port of its own.'),
    targets: mcpTargets(),
    ...mcpOptions,
  },
  ui: { gateways },
} as const

export const llmSchema = z.strictObject({ ...shapes.llm, policies: policies('all models') })
export const mcpSchema = z.strictObject({ ...shapes.mcp, policies: policies('all servers') })
export const uiSchema = z.strictObject({ ...shapes.ui, policies: policies('the Admin UI') })

const TITLES = { llm: 'LLM traffic', mcp: 'MCP traffic', ui: 'the Admin UI' } as const

/** `llm`, `mcp` or `ui`. */
export function readSpecial(
  reading: Reading,
  key: keyof typeof shapes,
): SpecialSection | undefined {
  const { document } = reading
  if (valueAt(document, [key]) === undefined) return undefined
  const schema = z.strictObject(shapes[key] as z.ZodRawShape)
  const stage = key === 'ui' ? 'traffic' : key
  const { value } = parseAt(reading, schema, [key], { stage, except: ['policies'] })
  const policies = readPolicies(reading, [key, 'policies'], {
    sections: SECTIONS,
    level: 'route',
    policy: `section:${key}`,
    isLenient: true,
  })
  complain(
    reading,
    [key],
    {
      code: 'PC0220',
      severity: 'warning',
      message: `\`${key}\` is checked, but ${TITLES[key]} is not served by this version`,
      hint: 'nothing listens for it; routes and backends are served',
    },
    'key',
  )
  return { origin: originOf(document, [key]), value: (value ?? {}) as JsonObject, policies }
}
