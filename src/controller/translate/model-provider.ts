import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { AiProvider, Endpoint } from '../../model/backend.ts'
import type { JsonObject } from '../../model/json.ts'
import { PRESETS, PROVIDERS, parseBaseUrl, presetOptions } from '../../protocols/llm/schema.ts'
import { PORTCULLIS } from '../resources/metadata.ts'
import type { ProxyModelObject } from '../resources/proxy.ts'
import type { Effects } from './effects.ts'
import { readPolicySection } from './policy-section.ts'
import { resolver } from './references.ts'
import { type ClusterView, complaint, originOf, type Read } from './view.ts'

type Model = Read<ProxyModelObject>

export interface MadeProvider {
  readonly provider: AiProvider
  readonly problems: readonly Diagnostic[]
}

/** The provider of a ProxyModel; an invalid one rejects every call. */
export function modelProvider(
  { view, effects }: { readonly view: ClusterView; readonly effects: Effects },
  read: Model,
  backend: string,
): MadeProvider {
  const { spec } = read.value
  const from = { group: PORTCULLIS, kind: 'ProxyModel', namespace: read.namespace }
  const resolveAny = resolver(view, effects)
  const { policies, diagnostics } = readPolicySection(
    {
      view,
      read,
      resolve: (ref, field) => resolveAny(from, ref, originOf(read, field)),
    },
    spec.policies,
    {
      field: 'spec.policies',
      section: 'backend',
      level: 'provider',
      policy: `provider:${backend}/${read.key}`,
    },
  )
  const kind = kindOf(read)
  const address = 'problem' in kind ? kind : addressOf(view, read, kind)
  if ('problem' in kind || 'problem' in address) {
    const problem = 'problem' in kind ? kind.problem : (address as Problem).problem
    const problems = [problem, ...diagnostics]
    return { provider: rejectedProvider(read, backend, problems), problems }
  }
  const { endpoint, pathPrefix } = address
  const options = {
    ...kind.options,
    ...(spec.model === undefined ? {} : { model: spec.model }),
    ...(pathPrefix === undefined ? {} : { pathPrefix }),
  }
  const origin = originOf(read, 'spec')
  const provider = { name: read.key, origin, provider: kind.name, endpoint, options, policies }
  return { provider, problems: diagnostics }
}

/** Its policy denies all requests before the gateway connects to anything. */
export function rejectedProvider(
  read: Model,
  backend: string,
  diagnostics: readonly Diagnostic[],
): AiProvider {
  const origin = originOf(read, 'spec')
  return {
    name: read.key,
    origin,
    provider: 'openAI',
    endpoint: { host: 'invalid.invalid', port: 443, scheme: 'https' },
    options: {},
    policies: [
      {
        ...{ state: 'invalid', kind: 'authorization', section: 'backend', level: 'provider' },
        ...{ policy: `provider:${backend}/${read.key}`, origin, diagnostics },
      },
    ],
  }
}

interface Problem {
  readonly problem: Diagnostic
}

interface Kind {
  /** A name in PROVIDERS. */
  readonly name: string
  readonly options: JsonObject
  readonly endpoint?: Endpoint
}

/** Provider names that differ in Kubernetes. */
const NAMES: Readonly<Record<string, string>> = { vertexai: 'vertex' }

function kindOf(read: Model): Kind | Problem {
  const { spec } = read.value
  const written = spec.provider?.toLowerCase() ?? ''
  const lower = NAMES[written] ?? written
  const preset = PRESETS[lower]
  if (preset !== undefined) {
    return { name: 'custom', options: presetOptions(lower, preset), endpoint: preset.endpoint }
  }
  const known = PROVIDERS.find(({ name }) => name.toLowerCase() === lower)
  if (known === undefined) {
    const message = `unknown provider \`${spec.provider ?? ''}\``
    return { problem: complaint(read, 'spec.provider', 'PC0704', message) }
  }
  return { name: known.name, options: optionsOf(known.name, spec) }
}

function optionsOf(kind: string, spec: ProxyModelObject['spec']): JsonObject {
  switch (kind) {
    case 'bedrock':
      return { region: spec.bedrock?.region ?? 'us-east-1' }
    case 'vertex':
      return { region: 'global', ...(spec.vertexai as JsonObject) }
    case 'azure':
      return { resourceType: 'openAI', ...(spec.azure as JsonObject) }
    case 'custom': {
      const { formats = [] } = spec.custom ?? {}
      return { formats: formats as unknown as JsonObject[] } as JsonObject
    }
    default:
      return {}
  }
}

interface Address {
  readonly endpoint: Endpoint
  readonly pathPrefix?: string
}

function addressOf(view: ClusterView, read: Model, kind: Kind): Address | Problem {
  const { spec } = read.value
  const { backendRef } = spec.custom ?? {}
  if (backendRef !== undefined) {
    const from = { group: PORTCULLIS, kind: 'ProxyModel', namespace: read.namespace }
    const field = 'spec.custom.backendRef'
    const { verdict } = resolver(view)(from, backendRef, originOf(read, field))
    const { kind: what, name, namespace = read.namespace, port } = backendRef
    const isService = backendRef.group === '' && what === 'Service'
    if (!verdict.ok || !isService || port === undefined) {
      const message = verdict.ok ? 'a model requires a Service with a port' : verdict.message
      const code = !verdict.ok && verdict.reason === 'RefNotPermitted' ? 'PC0703' : 'PC0702'
      return { problem: complaint(read, field, code, message) }
    }
    return { endpoint: { host: `${name}.${namespace}.svc.cluster.local`, port } }
  }
  if (spec.baseURL !== undefined) {
    const parsed = parseBaseUrl(spec.baseURL)
    if (parsed !== undefined) return parsed
    return { problem: complaint(read, 'spec.baseURL', 'PC0704', 'not a valid API URL') }
  }
  if (kind.endpoint !== undefined) return { endpoint: kind.endpoint }
  const host = PROVIDERS.find(({ name }) => name === kind.name)?.host(kind.options)
  if (host === undefined) {
    const message = 'the address of this provider cannot be derived from its settings'
    const hint = 'set `baseURL`'
    return { problem: complaint(read, 'spec.provider', 'PC0704', message, hint) }
  }
  return { endpoint: { host: host.toLowerCase(), port: 443, scheme: 'https' } }
}
