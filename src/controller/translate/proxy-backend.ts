import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { hasErrors } from '../../diagnostics/result.ts'
import type { AiProvider, Backend, Endpoint } from '../../model/backend.ts'
import type { JsonObject } from '../../model/json.ts'
import type { Attached } from '../../model/policy.ts'
import { checkExpression, parseHost } from '../../policies/schema.ts'
import {
  PROVIDERS,
  type Provider,
  REJECTED_OF_PROVIDERS,
  WAITING_OF_PROVIDERS,
} from '../../protocols/llm/schema.ts'
import type { McpSpec, ProviderSpec, ProxyBackendObject } from '../resources/proxy.ts'
import { type McpServerDeps, toMcpServers } from './mcp-servers.ts'
import { complaint, originOf, type Read } from './view.ts'

export interface ProxyBackendDeps extends McpServerDeps {
  /** Policies that target it, or its provider or server with this name. */
  readonly attached: (part: string | undefined) => readonly Attached[]
}

/** Converts a ProxyBackend to a backend of the Model. */
export function toProxyBackend(
  read: Read<ProxyBackendObject>,
  name: string,
  deps: ProxyBackendDeps,
): Backend {
  const { spec } = read.value
  const policies = [
    ...deps.section(spec.policies, 'spec.policies', 'backend', `backend:${name}`),
    ...deps.attached(undefined),
  ]
  const identity = { name, origin: originOf(read, 'spec'), policies }
  const invalid = (diagnostics: readonly Diagnostic[]): Backend => ({
    ...identity,
    kind: 'invalid',
    diagnostics,
  })
  if (read.problems.length > 0) return invalid(read.problems.map(({ diagnostic }) => diagnostic))
  const { static: fixed, a2a, ai, mcp, dynamicForwardProxy } = spec
  const kinds = [fixed, a2a, ai, mcp, dynamicForwardProxy].filter((one) => one !== undefined)
  if (kinds.length !== 1) {
    const message = 'set exactly one of `ai`, `mcp`, `static`, `dynamicForwardProxy` and `a2a`'
    return invalid([complaint(read, 'spec', 'PC0704', message)])
  }
  if (fixed?.unixPath !== undefined) return { ...identity, kind: 'unix', path: fixed.unixPath }
  const host = fixed ?? a2a
  if (host !== undefined) {
    const endpoint = endpointOf(`${bracketed(host.host ?? '')}:${host.port ?? ''}`)
    if (endpoint !== undefined) {
      const own = a2a === undefined ? policies : [...policies, agentPolicy(identity)]
      return { ...identity, kind: 'host', endpoints: [endpoint], policies: own }
    }
    const message = 'host and port are not a valid address'
    return invalid([
      complaint(read, fixed === undefined ? 'spec.a2a' : 'spec.static', 'PC0704', message),
    ])
  }
  if (dynamicForwardProxy !== undefined) {
    const { target } = dynamicForwardProxy
    if (target === undefined) return { ...identity, kind: 'dynamic' }
    const origin = originOf(read, 'spec.dynamicForwardProxy.target')
    const problems = checkExpression(target, 'traffic', 'string', () => origin)
    if (hasErrors(problems)) return invalid(problems)
    return { ...identity, kind: 'dynamic', target }
  }
  if (ai !== undefined) {
    const problems: Diagnostic[] = []
    const made = providersOf(ai).map((group) => ({
      providers: group.flatMap(({ provider, field }) => {
        const one = toProvider(read, provider, field, name, deps)
        if ('code' in one) problems.push(one)
        return 'code' in one ? [] : [one]
      }),
    }))
    const names = made.flatMap(({ providers }) => providers.map((one) => one.name))
    const twin = names.find((one, at) => names.indexOf(one) !== at)
    if (twin !== undefined) {
      const message = `duplicate provider \`${twin}\``
      problems.push(complaint(read, 'spec.ai', 'PC0704', message))
    }
    if (problems.length > 0) return invalid(problems)
    const { allowEndpoints } = ai
    const allowed = allowEndpoints === undefined ? {} : { allowEndpoints }
    return { ...identity, kind: 'ai', groups: made, ...allowed }
  }
  const servers = toMcpServers(read, mcp as McpSpec, name, deps)
  if ('problems' in servers) return invalid(servers.problems)
  const { sessionRouting, prefixMode, failureMode, dnsRebindingProtection } = mcp as McpSpec
  const options = {
    statefulMode: sessionRouting,
    prefixMode,
    failureMode,
    dnsRebindingProtection,
  }
  return { ...identity, kind: 'mcp', targets: servers.targets, options }
}

/**
 * The policy implied by the kind of the backend; one written among its policies takes precedence.
 */
function agentPolicy({
  name,
  origin,
}: Pick<Backend, 'name' | 'origin'>): Backend['policies'][number] {
  return {
    kind: 'a2a',
    section: 'backend',
    level: 'backend',
    policy: `backend:${name}`,
    origin,
    state: 'valid',
    value: {},
  }
}

type AiSpec = NonNullable<ProxyBackendObject['spec']['ai']>

/** The providers of each group, with their fields. */
function providersOf({ groups, provider }: AiSpec) {
  if (groups === undefined) {
    return [provider === undefined ? [] : [{ provider, field: 'spec.ai.provider' }]]
  }
  return groups.map(({ providers }, at) =>
    providers.map((one, index) => ({
      provider: one,
      field: `spec.ai.groups[${at}].providers[${index}]`,
    })),
  )
}

/** Settings that are accepted but not implemented yet, reported in the same words as in files. */
export function unservedParts(read: Read<ProxyBackendObject>): readonly Diagnostic[] {
  const { ai } = read.value.spec
  const warn = (field: string, message: string, hint: string): Diagnostic => ({
    ...complaint(read, field, 'PC0220', message, hint),
    severity: 'warning',
  })
  return (ai === undefined ? [] : providersOf(ai).flat()).flatMap(({ provider, field }) =>
    writtenOptions(provider, field, WAITING_OF_PROVIDERS).map(({ key, at }) =>
      warn(at, `\`${key}\` is validated but has no effect in this version`, 'remove it'),
    ),
  )
}

/** The options that a provider sets among these keys, with their fields. */
function writtenOptions(spec: ProviderSpec, field: string, keys: readonly string[]) {
  const own = Object.entries(spec.provider).flatMap(([kind, value]) =>
    value === undefined ? [] : [[`${field}.provider.${kind}`, value] as const],
  )
  return [[field, spec] as const, ...own].flatMap(([at, value]) =>
    keys
      .filter((key) => ![undefined, false].includes((value as JsonObject)[key] as undefined))
      .map((key) => ({ key, at: `${at}.${key}` })),
  )
}

function endpointOf(text: string): Endpoint | undefined {
  const parsed = parseHost(text)
  if (parsed?.kind !== 'host') return undefined
  const { kind: _, ...endpoint } = parsed
  return endpoint
}

function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
}

function toProvider(
  read: Read<ProxyBackendObject>,
  spec: ProviderSpec,
  field: string,
  backend: string,
  deps: ProxyBackendDeps,
): AiProvider | Diagnostic {
  const { name, provider, hostOverride, policies, ...rest } = spec
  const kinds = PROVIDERS.filter((one) => provider[one.name] !== undefined)
  const kind = kinds[0] as Provider
  if (kinds.length !== 1) {
    const message = `set exactly one provider; available: ${PROVIDERS.map((one) => one.name).join(', ')}`
    return complaint(read, `${field}.provider`, 'PC0704', message)
  }
  const [rejected] = writtenOptions(spec, field, REJECTED_OF_PROVIDERS)
  if (rejected !== undefined) {
    const message = `\`${rejected.key}\` of a provider is not supported`
    const hint = 'it would not reach the provider, so it is rejected rather than ignored'
    return complaint(read, rejected.at, 'PC0219', message, hint)
  }
  const own = provider[kind.name] as JsonObject
  const publicHost = kind.host(own)
  const written = hostOverride ?? (publicHost === undefined ? undefined : `https://${publicHost}`)
  const endpoint = written === undefined ? undefined : endpointOf(written)
  if (endpoint === undefined) {
    const message = `the address of this provider cannot be derived from \`${kind.name}\``
    return complaint(read, field, 'PC0704', message, 'set `hostOverride`')
  }
  const level = 'provider'
  return {
    name,
    origin: originOf(read, field),
    provider: kind.name,
    endpoint,
    options: { tokenize: false, ...own, ...rest } as JsonObject,
    policies: [
      ...deps.section(policies, `${field}.policies`, level, `provider:${backend}/${name}`),
      ...deps.attached(name),
    ],
  }
}
