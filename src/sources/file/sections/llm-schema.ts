import * as z from 'zod'
import type { Section } from '../../../model/policy.ts'
import { computedFields, promptCaching } from '../../../policies/ai/schema.ts'
import {
  anything,
  describeAlias,
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

/* The schema of `llm`: models by name, and their providers. */

const text = (what: string) => z.string().min(1).max(2048).optional().describe(what)
const json = (what: string) => z.record(z.string(), anything).optional().describe(what)
const path = (what: string) =>
  text(what)
    .unwrap()
    .regex(/^\/[!-~]*$/)
    .optional()
    .describe(what)
const waits = (what: string) => anything.optional().describe(`${what} Not supported yet: rejected.`)

export const params = z
  .strictObject({
    model: text(
      "The model to request from the provider. Defaults to the model in the client's request.",
    ),
    apiKey: secret().optional().describe('The API key: a string or `{file}`.'),
    awsRegion: text('The AWS region, for Bedrock.'),
    vertexRegion: text('The region, for Vertex AI. Default: `global`.'),
    vertexProject: text('The project ID, for Vertex AI.'),
    azureResourceName: text('The resource name, for Azure.'),
    azureResourceType: text('The resource type, for Azure.'),
    azureApiVersion: text('The API version, for Azure.'),
    azureProjectName: text('The project name, for Azure. Not used yet.'),
    baseUrl: z
      .string()
      .max(2048)
      .regex(/^https?:\/\/[^/?#\s@]+(?:\/[^?#\s]*)?$/i)
      .optional()
      .describe('The URL of the API, including its base path.'),
    hostOverride: host()
      .optional()
      .describe('The host:port or URL to call instead of the default.'),
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
        reference: name().optional().describe('The name of an entry in `providers`.'),
      }),
      ['custom', 'reference'],
    ),
  ])
  .describe('The provider: openAI, anthropic, …, `{custom}` or `{reference: name}`.')

/** The keys that are read as policies of the provider. */
const policies = {
  requestHeaders: policySchema('requestHeaders').optional().describe('Modifies request headers.'),
  responseHeaders: policySchema('responseHeaders')
    .optional()
    .describe('Modifies response headers.'),
  backendTLS: policySchema('backendTLS').optional().describe('TLS to the provider.'),
  tls: policySchema('backendTLS').optional().describe(describeAlias('backendTLS')),
  auth: policySchema('backendAuth').optional().describe('Credentials for the provider.'),
  health: policySchema('outlierDetection')
    .optional()
    .describe('When to consider the provider unhealthy.'),
}

export const SPELLINGS = { tls: 'backendTLS' } as const
const POLICY_KEYS = Object.keys(policies)

const change = {
  defaults: json('Fields to set if the request does not have them.'),
  overrides: json('Fields to set, replacing those in the request.'),
  transformation: computedFields
    .optional()
    .describe(
      "Request fields to set, as CEL expressions over the client's request " +
        '(`llmRequest`). Shorthand for `transformations` of the `ai` policy.',
    ),
  finalTransformation: waits('Fields to compute after translation.'),
  backendTunnel: waits('A proxy between the gateway and the provider.'),
  promptCaching: promptCaching.optional(),
}

/** Keys that are not supported but would change behavior. */
export const UNSERVED_KEYS = ['finalTransformation', 'backendTunnel'] as const

const modelHead = {
  id: text('A unique ID. Required if `name` is not unique.'),
  name: z
    .string()
    .max(256)
    .regex(/^(?:\*|\*?[^*\s]+|[^*\s]+\*)$/)
    .describe(
      'The model name that clients request. Can contain one leading or trailing `*`; `*` alone matches all.',
    ),
  visibility: z
    .enum(['public', 'internal'])
    .prefault('public')
    .describe('Whether clients can request the model directly, or only through virtual models.'),
  provider,
  params: params.optional().describe('Parameters of calls to the provider.'),
  passthrough: z
    .enum(['detect', 'opaque'])
    .optional()
    .describe('`opaque` is rejected: the gateway cannot guard traffic that it does not parse.'),
  matches: z
    .array(
      z.strictObject({
        headers: z.array(valueMatch(headerName())).max(64).optional().describe('Headers.'),
      }),
    )
    .max(64)
    .optional()
    .describe('Requests to match. Default: all.'),
  ...change,
}

const providerHead = {
  name: name().describe('The name that models reference.'),
  provider,
  params: params.optional().describe('Parameters of calls.'),
  ...change,
}

/** `defaults` of a provider in files written for other gateways. */
export const providerDefaults = z.strictObject(change)

export const modelSchema = z.strictObject(modelHead)
export const providerSchema = z.strictObject(providerHead)
export const MODEL_POLICIES = ['authorization', 'guardrails', 'ai', ...POLICY_KEYS]
export const PROVIDER_POLICIES = POLICY_KEYS

const goal = { model: z.string().min(1).max(256).describe('The name of an entry in `models`.') }
const targets = (further: z.ZodRawShape) =>
  z.strictObject({
    targets: z
      .array(z.strictObject({ ...goal, ...further }))
      .min(1)
      .max(64)
      .describe('The models to choose from.'),
  })

const weighted = targets({
  weight: z.int().min(0).max(1_000_000).prefault(1).describe('The share of requests.'),
})
const failover = targets({
  priority: z.int().min(0).describe('The priority. The lowest value is tried first.'),
})
const conditional = targets({
  when: expression('rule', 'llm').optional().describe('A CEL condition. Default: always true.'),
})

export const virtualModel = z.strictObject({
  name: z.string().min(1).max(256).describe('The model name that clients request.'),
  routing: oneOfKeys(
    z.strictObject({
      weighted: weighted.optional().describe('Choose by weight.'),
      failover: failover.optional().describe('Try the next model when one fails.'),
      conditional: conditional
        .optional()
        .describe('Choose the first model whose condition is true.'),
    }),
    ['weighted', 'failover', 'conditional'],
  ).describe('How a model is chosen.'),
})

export const llmHead = {
  gateways: z
    .union([name(), z.array(name()).min(1).max(64)])
    .optional()
    .describe('The gateways to serve on. Default: `default`.'),
  port: port()
    .optional()
    .describe(
      'A dedicated port, instead of `gateways`. Defaults to 4000 if the file defines no gateways.',
    ),
  tls: listenerTls.optional().describe('TLS settings of that port.'),
  virtualModels: z
    .array(virtualModel)
    .max(1000)
    .optional()
    .describe('Model names that choose among other models.'),
}

export const SECTIONS: readonly Section[] = ['traffic', 'backend']

export const llmSchema = z.strictObject({
  ...llmHead,
  providers: z
    .array(providerSchema.extend(policies))
    .max(256)
    .optional()
    .describe('Providers that models reference.'),
  models: z
    .array(
      modelSchema.extend({
        authorization: policySchema('authorization').optional().describe('Who can use the models.'),
        guardrails: policySchema('guardrails').optional().describe('Content to mask or reject.'),
        ai: policySchema('ai').optional().describe('Changes to calls.'),
        ...policies,
      }),
    )
    .min(1)
    .max(1000)
    .describe('The models to offer.'),
  policies: policiesSchema(SECTIONS, 'route').optional().describe('Policies for all models.'),
})
