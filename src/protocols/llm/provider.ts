import type { DialectName } from './dialect.ts'
import { apisOf, FORMATS, type ProviderOptions } from './schema.ts'

/** How to reach a provider: its dialects, its paths and its credentials. */
export interface ProviderAccess {
  /** `gen_ai.provider.name` of OpenTelemetry. */
  telemetryName(options: ProviderOptions): string
  /** Dialects in order of preference; the first that the client's can be translated to is used. */
  dialects(options: ProviderOptions): readonly DialectName[]
  /** Returns the configured path for calls in this dialect. */
  ownPath?(dialect: DialectName, options: ProviderOptions): string | undefined
  /** Returns the path of an endpoint, with its query; `below` is the dialect's part of it. */
  path(below: string, call: PathCall): string
  /** The header for the key, unless the configuration specifies another location. */
  readonly credential: CredentialHeader
}

export interface PathCall {
  readonly dialect: DialectName
  /** The provider's name for the model. */
  readonly model: string
  readonly options: ProviderOptions
}

export interface CredentialHeader {
  readonly name: string
  readonly prefix: string
}

const BEARER: CredentialHeader = { name: 'authorization', prefix: 'Bearer ' }

const below =
  (base: string): ProviderAccess['path'] =>
  (path) =>
    `${base}${path}`

const RECORDS: Readonly<Record<string, ProviderAccess>> = {
  openAI: access('openAI', 'openai', below('/v1')),
  anthropic: access('anthropic', 'anthropic', below('/v1'), { name: 'x-api-key', prefix: '' }),
  gemini: access('gemini', 'gcp.gemini', below('/v1beta'), {
    name: 'x-goog-api-key',
    prefix: '',
  }),
  vertex: access('vertex', 'gcp.vertex_ai', (path, { options }) => {
    const { projectId, region = 'global' } = options
    return `/v1/projects/${projectId}/locations/${region}/publishers/google${path}`
  }),
  bedrock: access('bedrock', 'aws.bedrock', below('')),
  azure: access('azure', 'azure.ai.openai', azurePath, { name: 'api-key', prefix: '' }),
  copilot: access('copilot', 'copilot', below('')),
  custom: {
    telemetryName: ({ providerOverride }) => {
      const name = String(providerOverride ?? 'custom')
      return Object.hasOwn(TELEMETRY_NAMES, name) ? String(TELEMETRY_NAMES[name]) : name
    },
    dialects: (options) => apisOf('custom', options),
    ownPath: (dialect, { formats }) =>
      formatsOf(formats).find(({ type }) => FORMATS[type.toLowerCase()] === dialect)?.path,
    path: (path, { dialect }) => `${dialect === 'rerank' ? '/v2' : '/v1'}${path}`,
    credential: BEARER,
  },
}

/** Presets with another name in OpenTelemetry. */
const TELEMETRY_NAMES: Readonly<Record<string, string>> = { mistral: 'mistral_ai', xai: 'x_ai' }

/** Returns the access of a provider by its name in the configuration. */
export function accessOf(provider: string): ProviderAccess {
  return RECORDS[provider] ?? (RECORDS.custom as ProviderAccess)
}

interface Format {
  readonly type: string
  readonly path?: string
}

function formatsOf(formats: unknown): readonly Format[] {
  return Array.isArray(formats) ? formats : []
}

function access(
  provider: string,
  name: string,
  path: ProviderAccess['path'],
  credential = BEARER,
): ProviderAccess {
  const dialects = apisOf(provider, {})
  return { telemetryName: () => name, dialects: () => dialects, path, credential }
}

/** With an API version other than v1, Azure has one path per deployment; otherwise only one. */
function azurePath(path: string, { model, options }: PathCall): string {
  const { apiVersion } = options
  if (apiVersion === undefined || apiVersion === 'v1') return `/openai/v1${path}`
  const version = encodeURIComponent(String(apiVersion))
  return `/openai/deployments/${encodeURIComponent(model)}${path}?api-version=${version}`
}
