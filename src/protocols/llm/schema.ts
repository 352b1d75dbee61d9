import * as z from 'zod'
import type { Endpoint } from '../../model/backend.ts'

/** A model provider: its options, and the host that follows from them. */
export interface Provider {
  /** The provider's name in the configuration. */
  readonly name: string
  readonly options: z.ZodOptional<z.ZodObject>
  /** Returns the public host; undefined if it does not follow from the options. */
  host(options: ProviderOptions): string | undefined
}

export type ProviderOptions = Readonly<Record<string, unknown>>

const REJECTED = 'Not supported yet: a value is rejected.'

const model = z
  .string()
  .min(1)
  .max(256)
  .optional()
  .describe('The model to call, regardless of the model in the request.')
const text = (what: string) => z.string().min(1).max(1024).describe(what)

/** In the order of the reference. */
export const PROVIDERS: readonly Provider[] = [
  define('openAI', 'OpenAI and compatible providers.', {}, () => 'api.openai.com'),
  define('anthropic', 'Anthropic.', {}, () => 'api.anthropic.com'),
  define('gemini', 'Google Gemini.', {}, () => 'generativelanguage.googleapis.com'),
  define(
    'vertex',
    'Google Vertex AI.',
    { projectId: text('The project.'), region: text('The region. Default: `global`.').optional() },
    ({ region = 'global' }) => {
      if (region === 'global') return 'aiplatform.googleapis.com'
      // Locations that are not regions, such as `eu`, have hosts of another form.
      return /^[a-z]+-[a-z]+\d+$/.test(String(region))
        ? `${region}-aiplatform.googleapis.com`
        : undefined
    },
  ),
  define(
    'bedrock',
    'Amazon Bedrock.',
    {
      region: text('The region.'),
      guardrailIdentifier: text(`A guardrail. ${REJECTED}`).optional(),
      guardrailVersion: text(`Its version. ${REJECTED}`).optional(),
    },
    // Regions of China and of governments have hosts of another form.
    ({ region }) =>
      /^(?!cn-)[a-z]{2}-[a-z]+-\d+$/.test(String(region))
        ? `bedrock-runtime.${region}.amazonaws.com`
        : undefined,
  ),
  define(
    'azure',
    'Azure OpenAI and Foundry.',
    {
      resourceName: text('The resource.'),
      resourceType: text('The resource type: `openAI` or `foundry`.').optional(),
      apiVersion: text('The version of the API.').optional(),
      projectName: text('The project.').optional(),
    },
    ({ resourceName, resourceType }) => {
      const domain = AZURE_DOMAINS[String(resourceType).toLowerCase()]
      const isName = /^[a-z0-9][a-z0-9-]{0,62}$/i.test(String(resourceName))
      return domain !== undefined && isName ? `${resourceName}.${domain}` : undefined
    },
  ),
  define('copilot', 'GitHub Copilot.', {}, () => 'api.githubcopilot.com'),
  define(
    'custom',
    'Any other endpoint.',
    {
      providerOverride: text('The name of the provider in metrics.').optional(),
      formats: z
        .array(
          z.strictObject({
            type: text('The API format.'),
            path: text('The path of this API.').optional(),
          }),
        )
        .min(1)
        .max(16)
        .describe('The API formats that it supports.'),
    },
    () => undefined,
  ),
]

/** APIs of providers, in order of preference: calls in another API are translated. */
export type Api =
  | 'completions'
  | 'responses'
  | 'messages'
  | 'gemini'
  | 'converse'
  | 'embeddings'
  | 'rerank'
  | 'other'

const OPENAI: readonly Api[] = ['completions', 'responses', 'embeddings', 'other']

const APIS: Readonly<Record<string, readonly Api[]>> = {
  openAI: OPENAI,
  anthropic: ['messages'],
  gemini: ['gemini'],
  vertex: ['gemini'],
  bedrock: ['converse'],
  azure: OPENAI,
  copilot: ['completions', 'responses', 'embeddings'],
}

/** The names of formats in a file, in lowercase. */
export const FORMATS: Readonly<Record<string, Api | undefined>> = {
  completions: 'completions',
  chat: 'completions',
  responses: 'responses',
  messages: 'messages',
  gemini: 'gemini',
  converse: 'converse',
  embeddings: 'embeddings',
  rerank: 'rerank',
}

/** The APIs that a provider has, by its name in the configuration. */
export function apisOf(provider: string, { formats }: ProviderOptions): readonly Api[] {
  const known = APIS[provider]
  if (known !== undefined) return known
  const types = (Array.isArray(formats) ? formats : []) as readonly { readonly type: string }[]
  const listed = types.flatMap(({ type }) => FORMATS[type.toLowerCase()] ?? [])
  return listed.includes('completions') ? [...listed, 'other'] : listed
}

/** Whether a call may be rejected because of the name of the model that is called. */
export function dependsOnModel(provider: string, options: ProviderOptions): boolean {
  return apisOf(provider, options).some((api) => api === 'gemini' || api === 'converse')
}

/** These would change or restrict the request: ignoring them would change its meaning. */
export const REJECTED_OF_PROVIDERS = ['guardrailIdentifier', 'guardrailVersion']
/** These would only add information to the request. */
export const WAITING_OF_PROVIDERS = ['tokenize', 'projectName']

/** A provider with an OpenAI-compatible API: its host, base path and additional formats. */
export interface Preset {
  readonly endpoint: Endpoint
  readonly basePath: string
  readonly formats: readonly string[]
  /** Paths of formats that are not below the base path. */
  readonly paths?: Readonly<Record<string, string>>
}

const CHAT = ['completions', 'embeddings']

/** By their names in the configuration. */
export const PRESETS: Readonly<Record<string, Preset>> = {
  baseten: preset('inference.baseten.co', '/v1'),
  cerebras: preset('api.cerebras.ai', '/v1'),
  cohere: {
    ...preset('api.cohere.ai', '/compatibility/v1', [...CHAT, 'rerank']),
    paths: { rerank: '/v2/rerank' },
  },
  deepinfra: preset('api.deepinfra.com', '/v1/openai'),
  deepseek: preset('api.deepseek.com', '/v1'),
  fireworks: preset('api.fireworks.ai', '/inference/v1'),
  groq: preset('api.groq.com', '/openai/v1', [...CHAT, 'responses']),
  huggingface: preset('router.huggingface.co', '/v1'),
  mistral: preset('api.mistral.ai', '/v1'),
  ollama: {
    endpoint: { host: 'localhost', port: 11434, scheme: 'http' },
    basePath: '/v1',
    formats: CHAT,
  },
  openrouter: preset('openrouter.ai', '/api/v1', [...CHAT, 'responses']),
  togetherai: preset('api.together.xyz', '/v1'),
  xai: preset('api.x.ai', '/v1', [...CHAT, 'responses']),
}

/** Returns a preset as provider options: an endpoint that speaks these formats. */
export function presetOptions(name: string, { basePath, formats, paths = {} }: Preset) {
  const types = formats.map((type) => {
    return paths[type] === undefined ? { type } : { type, path: paths[type] }
  })
  return { formats: types, providerOverride: name, pathPrefix: basePath }
}

/** Parses the URL of an API into its endpoint and path prefix, if it has one. */
export function parseBaseUrl(
  url: string,
): { readonly endpoint: Endpoint; readonly pathPrefix?: string } | undefined {
  if (!URL.canParse(url)) return undefined
  const { protocol, hostname, port, pathname } = new URL(url)
  if (protocol !== 'https:' && protocol !== 'http:') return undefined
  const scheme = protocol === 'https:' ? 'https' : 'http'
  const host = hostname.replace(/^\[|\]$/g, '')
  const endpoint = { host, port: Number(port) || (scheme === 'https' ? 443 : 80), scheme } as const
  const pathPrefix = pathname.replace(/\/$/, '')
  return pathPrefix === '' ? { endpoint } : { endpoint, pathPrefix }
}

/** Headers in which SDKs send a key, in addition to `Authorization`. */
export const KEY_HEADERS: readonly string[] = ['x-api-key', 'api-key', 'x-goog-api-key']

/** Paths that model clients call, on a gateway that also serves others. */
export const MODEL_PATHS: readonly string[] = [
  '/v1',
  '/v1beta',
  '/v2',
  '/models',
  '/chat/completions',
  '/responses',
]

function preset(host: string, basePath: string, formats: readonly string[] = CHAT): Preset {
  return { endpoint: { host, port: 443, scheme: 'https' }, basePath, formats }
}

const AZURE_DOMAINS: Readonly<Record<string, string | undefined>> = {
  openai: 'openai.azure.com',
  foundry: 'services.ai.azure.com',
}

function define(
  name: string,
  what: string,
  shape: z.ZodRawShape,
  host: Provider['host'],
): Provider {
  const options = z
    .strictObject({ model, ...shape })
    .optional()
    .describe(what)
  return { name, options, host }
}
