import * as z from 'zod'
import type { Section } from '../../../model/policy.ts'
import { computedFields, promptCaching } from '../../../policies/ai/schema.ts'
import {
  anything,
  expression,
  headerName,
  host,
  name,
  oneOfKeys,
  policySchema,
  port,
  secret,
} from '../../../policies/schema.ts'
import { PRESETS, PROVIDERS } from '../../../protocols/llm/schema.ts'
import { policiesSchema } from '../policies.ts'
import { valueMatch } from './matches.ts'
import { listenerTls } from './tls.ts'

/* `llm`: models by name, and who serves them. */

const text = (what: string) => z.string().min(1).max(2048).optional().describe(what)
const json = (what: string) => z.record(z.string(), anything).optional().describe(what)
const path = (what: string) =>
  text(what)
    .unwrap()
    .regex(/^\/[!-~]*$/)
    .optional()
    .describe(what)
const waits = (what: string) => anything.optional().describe(`${what} Rejected: not served yet.`)

export const params = z
  .strictObject({
    model: text('The model to ask for; by default what the client asked for.'),
    apiKey: secret().optional().describe('The key: the text or `{file}`.'),
    awsRegion: text('For Bedrock.'),
    vertexRegion: text('For Vertex AI.'),
    vertexProject: text('For Vertex AI.'),
    azureResourceName: text('For Azure.'),
    azureResourceType: text('For Azure.'),
    azureApiVersion: text('For Azure.'),
    azureProjectName: text('For Azure. Not used yet.'),
    baseUrl: z
      .string()
      .max(2048)
      .regex(/^https?:\/\/[^/?#\s@]+(?:\/[^?#\s]*)?$/i)
      .optional()
      .describe('A URL: where the API is, with its base path.'),
    hostOverride: host().optional().describe('host:port or a URL to use instead.'),
    pathOverride: path('The path of every call.'),
    pathPrefix: path('The base path of calls.'),
    tokenize: z.boolean().prefault(false).describe('Not used yet: tokens are estimated.'),
  })
  .meta({ id: 'llm-params' })

const PROVIDER_NAMES: readonly string[] = [
  ...PROVIDERS.map((one) => one.name).filter((one) => one !== 'custom'),
  ...Object.keys(PRESETS),
]

const custom = PROVIDERS.find((one) => one.name === 'custom')?.options ?? z.never().optional()

export const provider = z
  .union([
    z
      .enum(PROVIDER_NAMES as [string, ...string[]])
      .or(z.literal('openai').transform(() => 'openAI')),
    oneOfKeys(
      z.strictObject({
        custom,
        reference: name().optional().describe('The name of an entry of `providers`.'),
      }),
      ['custom', 'reference'],
    ),
  ])
  .describe('Who serves it: openAI, anthropic, …, `{custom}` or `{reference: name}`.')

/** What is read as policies of the provider. */
const policies = {
  requestHeaders: policySchema('requestHeaders').optional().describe('Changes of request headers.'),
  responseHeaders: policySchema('responseHeaders')
    .optional()
    .describe('Changes of response headers.'),
  backendTLS: policySchema('backendTLS').optional().describe('TLS towards the provider.'),
  tls: policySchema('backendTLS').optional().describe('The same as `backendTLS`.'),
  auth: policySchema('backendAuth').optional().describe('Credentials for the provider.'),
  health: policySchema('outlierDetection').optional().describe('When the provider is unhealthy.'),
}

export const SPELLINGS = { tls: 'backendTLS' } as const
const POLICY_KEYS = Object.keys(policies)

const change = {
  defaults: json('Fields that are set if the request has none.'),
  overrides: json('Fields that are set whatever the request says.'),
  transformation: computedFields
    .optional()
    .describe(
      'Fields of the request, by the expressions that compute them from what the client sent ' +
        '(`llmRequest`): short for `transformations` of the policy `ai`.',
    ),
  finalTransformation: waits('Fields that are computed after translation.'),
  backendTunnel: waits('A proxy on the way.'),
  promptCaching: promptCaching.optional(),
}

/** Keys that would do something, and do not. */
export const UNSERVED_KEYS = ['finalTransformation', 'backendTunnel'] as const

const modelHead = {
  id: text('An id of its own, if `name` is not unique.'),
  name: z
    .string()
    .max(256)
    .regex(/^(?:\*|\*?[^*\s]+|[^*\s]+\*)$/)
    .describe('What clients ask for; with one `*` at an end, or `*` for all.'),
  visibility: z
    .enum(['public', 'internal'])
    .prefault('public')
    .describe('Whether clients can ask for it, or only virtual models lead to it.'),
  provider,
  params: params.optional().describe('Parameters of calls to the provider.'),
  passthrough: z
    .enum(['detect', 'opaque'])
    .optional()
    .describe('`opaque` is rejected: what is not read cannot be guarded.'),
  matches: z
    .array(
      z.strictObject({
        headers: z.array(valueMatch(headerName())).max(64).optional().describe('Headers.'),
      }),
    )
    .max(64)
    .optional()
    .describe('Requests that it is for; absent: all.'),
  ...change,
}

const providerHead = {
  name: name().describe('What models refer to.'),
  provider,
  params: params.optional().describe('Parameters of calls.'),
  ...change,
}

/** `defaults` of a provider as files written for others have it. */
export const providerDefaults = z.strictObject(change)

export const modelSchema = z.strictObject(modelHead)
export const providerSchema = z.strictObject(providerHead)
export const MODEL_POLICIES = ['authorization', 'guardrails', 'ai', ...POLICY_KEYS]
export const PROVIDER_POLICIES = POLICY_KEYS

const goal = { model: z.string().min(1).max(256).describe('A model of `models`.') }
const targets = (further: z.ZodRawShape) =>
  z.strictObject({
    targets: z
      .array(z.strictObject({ ...goal, ...further }))
      .min(1)
      .max(64)
      .describe('The models to choose from.'),
  })

const weighted = targets({
  weight: z.int().min(0).max(1_000_000).prefault(1).describe('Its share.'),
})
const failover = targets({ priority: z.int().min(0).describe('The lowest comes first.') })
const conditional = targets({
  when: expression('rule', 'llm').optional().describe('An expression; absent: always.'),
})

export const virtualModel = z.strictObject({
  name: z.string().min(1).max(256).describe('What clients ask for.'),
  routing: oneOfKeys(
    z.strictObject({
      weighted: weighted.optional().describe('By weight.'),
      failover: failover.optional().describe('The next one when one fails.'),
      conditional: conditional.optional().describe('The first whose condition is true.'),
    }),
    ['weighted', 'failover', 'conditional'],
  ).describe('How one of the models is chosen.'),
})

export const llmHead = {
  gateways: z
    .union([name(), z.array(name()).min(1).max(64)])
    .optional()
    .describe('The gateways that it belongs to; `default` by default.'),
  port: port()
    .optional()
    .describe('A port of its own, instead of `gateways`; 4000 in a file that defines no gateways.'),
  tls: listenerTls.optional().describe('TLS of that port.'),
  virtualModels: z.array(virtualModel).max(1000).optional().describe('Names for choices.'),
}

export const SECTIONS: readonly Section[] = ['traffic', 'backend']

export const llmSchema = z.strictObject({
  ...llmHead,
  providers: z
    .array(providerSchema.extend(policies))
    .max(256)
    .optional()
    .describe('Providers that models refer to.'),
  models: z
    .array(
      modelSchema.extend({
        authorization: policySchema('authorization').optional().describe('Who may use it.'),
        guardrails: policySchema('guardrails').optional().describe('What is masked or rejected.'),
        ai: policySchema('ai').optional().describe('What is changed in calls.'),
        ...policies,
      }),
    )
    .min(1)
    .max(1000)
    .describe('The models that are offered.'),
  policies: policiesSchema(SECTIONS, 'route').optional().describe('Policies for all models.'),
})
