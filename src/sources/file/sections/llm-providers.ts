import * as z from 'zod'
import type { Diagnostic } from '../../../diagnostics/diagnostic.ts'
import { nearestName } from '../../../diagnostics/nearest.ts'
import type { AiProvider, Endpoint } from '../../../model/backend.ts'
import type { JsonObject } from '../../../model/json.ts'
import type { Attached } from '../../../model/policy.ts'
import type { PromptCaching } from '../../../policies/ai/schema.ts'
import { PRESETS, PROVIDERS, parseBaseUrl, presetOptions } from '../../../protocols/llm/schema.ts'
import { readPolicies } from '../policies.ts'
import { complain, parseAt, type Reading } from '../reading.ts'
import type { SectionNode } from '../section-node.ts'
import {
  MODEL_POLICIES,
  PROVIDER_POLICIES,
  type params,
  type provider,
  providerDefaults,
  providerSchema,
  SPELLINGS,
  UNSERVED_KEYS,
} from './llm-schema.ts'

/* Resolves the provider of a model in `llm`: its own, or a shared one. */

type Params = z.output<typeof params>
type Who = z.output<typeof provider>

interface Written {
  readonly name: string
  readonly provider: Who
  readonly params?: Params | undefined
  readonly defaults?: Readonly<Record<string, unknown>> | undefined
  readonly overrides?: Readonly<Record<string, unknown>> | undefined
  readonly transformation?: Readonly<Record<string, string>> | undefined
  readonly promptCaching?: PromptCaching | undefined
}

interface Named extends Written {
  /** The node with its policies: the entry itself, or its `defaults`. */
  readonly policies: SectionNode
}

export type NamedProviders = ReadonlyMap<string, Named>

const list = z.array(z.unknown()).max(256)

/** Reads the entries of `llm.providers`, by name. */
export function readNamedProviders(
  reading: Reading,
  at: SectionNode,
  problems: Diagnostic[],
): NamedProviders {
  const named = new Map<string, Named>()
  if (at.value === undefined) return named
  const { value = [], diagnostics } = parseAt(reading, list, at)
  problems.push(...diagnostics)
  for (const index of value.keys()) {
    const node = at.inner(index)
    const found = readNamed(reading, node, problems)
    if (found === undefined) continue
    if (named.has(found.name)) {
      const message = `another provider is already named \`${found.name}\``
      const said = { code: 'PC0303', message, hint: 'use a unique name for each' } as const
      problems.push(complain(reading, node.inner('name'), said))
    }
    named.set(found.name, found)
  }
  return named
}

/**
 * `defaults` are request fields; files written for other gateways use them for settings that models
 * share, each under its own name.
 */
function readNamed(reading: Reading, node: SectionNode, problems: Diagnostic[]): Named | undefined {
  const grouped = node.inner('defaults')
  const isGroup = isGroupOfDefaults(grouped.value)
  const except = isGroup ? [...PROVIDER_POLICIES, 'defaults'] : PROVIDER_POLICIES
  const head = parseAt(reading, providerSchema, node, { except })
  problems.push(...head.diagnostics, ...reportUnserved(reading, node))
  if (!isGroup) return head.value && { ...head.value, policies: node }
  const group = parseAt(reading, providerDefaults, grouped, { except: PROVIDER_POLICIES })
  problems.push(...group.diagnostics, ...reportUnserved(reading, grouped))
  return head.value && { ...head.value, ...group.value, policies: grouped }
}

function isGroupOfDefaults(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.keys(value).some((key) => key in providerDefaults.shape || isPolicyKey(key))
}

function isPolicyKey(key: string): boolean {
  return PROVIDER_POLICIES.includes(key)
}

/** Undefined after an error, which is added to `problems`. */
export function readModelProvider(
  reading: Reading,
  node: SectionNode,
  model: Written,
  named: NamedProviders,
  problems: Diagnostic[],
): AiProvider | undefined {
  problems.push(...reportUnserved(reading, node))
  const shared = referred(reading, node, model.provider, named, problems)
  if (shared === 'unknown') return undefined
  const who = shared?.provider ?? model.provider
  const own = { ...shared?.params, ...definedOf(model.params) } as Params
  const found = kindOf(who, own)
  const endpoint = found && endpointOf(found, own)
  if (found === undefined || endpoint === undefined) {
    const message =
      '`params` does not have enough settings to determine the address of this provider'
    const hint = 'set `params.baseUrl`'
    problems.push(complain(reading, node.inner('provider'), { code: 'PC0316', message, hint }))
    return undefined
  }
  const { name } = model
  const place = {
    sections: ['backend'] as const,
    level: 'provider' as const,
    policy: `provider:llm/${name}`,
    spellings: SPELLINGS,
  }
  const policies = [
    ...readPolicies(reading, node, { ...place, keys: MODEL_POLICIES }),
    ...(shared
      ? readPolicies(reading, shared.policies, { ...place, keys: PROVIDER_POLICIES })
      : []),
  ]
  const origin = node.origin
  const options = { ...found.options, ...pathsOf(own), ...bodyOf(shared, model) } as JsonObject
  const at = { ...place, origin }
  // The most general comes first: the model's own `ai` overrides it.
  const all = [...changesPolicy(shared, model, at), ...policies, ...keyPolicy(own, policies, at)]
  return { name, origin, provider: found.kind, endpoint, options, policies: all }
}

/** Resolves `{reference}`; undefined if the entry is itself a provider. */
function referred(
  reading: Reading,
  node: SectionNode,
  who: Who,
  named: NamedProviders,
  problems: Diagnostic[],
): Named | undefined | 'unknown' {
  if (typeof who === 'string' || who.reference === undefined) return undefined
  const found = named.get(who.reference)
  if (found !== undefined && isReference(found.provider)) {
    const message = `\`${who.reference}\` is itself a reference to another provider`
    const said = { code: 'PC0302', message, hint: 'reference that provider directly' } as const
    problems.push(complain(reading, node.inner('provider', 'reference'), said))
    return 'unknown'
  }
  if (found !== undefined) return found
  const meant = nearestName(who.reference, [...named.keys()])
  const message = `unknown provider \`${who.reference}\``
  const hint =
    meant === undefined ? 'define it under `llm.providers`' : `did you mean \`${meant}\`?`
  const said = { code: 'PC0302', message, hint } as const
  problems.push(complain(reading, node.inner('provider', 'reference'), said))
  return 'unknown'
}

function isReference(who: Who): boolean {
  return typeof who !== 'string' && who.reference !== undefined
}

interface Kind {
  /** A name in PROVIDERS. */
  readonly kind: string
  readonly options: JsonObject
  readonly endpoint?: Endpoint
}

function kindOf(who: Who, own: Params): Kind | undefined {
  if (typeof who !== 'string') {
    return who.custom === undefined
      ? undefined
      : { kind: 'custom', options: who.custom as JsonObject }
  }
  const preset = PRESETS[who]
  if (preset !== undefined) {
    return { kind: 'custom', options: presetOptions(who, preset), endpoint: preset.endpoint }
  }
  return { kind: who, options: definedOf(optionsOf(who, own)) as JsonObject }
}

function optionsOf(who: string, own: Params): Readonly<Record<string, unknown>> {
  switch (who) {
    case 'bedrock':
      return { region: own.awsRegion }
    case 'vertex':
      return { region: own.vertexRegion, projectId: own.vertexProject }
    case 'azure':
      return {
        resourceName: own.azureResourceName,
        resourceType: own.azureResourceType ?? 'openAI',
        apiVersion: own.azureApiVersion,
      }
    default:
      return {}
  }
}

function endpointOf({ kind, options, endpoint }: Kind, own: Params): Endpoint | undefined {
  if (own.hostOverride?.kind === 'host') {
    const { kind: _, ...written } = own.hostOverride
    return written
  }
  if (own.hostOverride !== undefined) return undefined
  if (own.baseUrl !== undefined) return parseBaseUrl(own.baseUrl)?.endpoint
  if (endpoint !== undefined) return endpoint
  const host = PROVIDERS.find(({ name }) => name === kind)?.host(options)
  return host === undefined ? undefined : { host: host.toLowerCase(), port: 443, scheme: 'https' }
}

/** The base path of `baseUrl` is the path of the API; by default, the path of the provider. */
function pathsOf({ model, baseUrl, pathOverride, pathPrefix }: Params): object {
  const base = baseUrl === undefined ? undefined : parseBaseUrl(baseUrl)?.pathPrefix
  return definedOf({ model, pathOverride, pathPrefix: pathPrefix ?? base })
}

/** Fields of the model win. */
function bodyOf(shared: Written | undefined, model: Written): object {
  const defaults = { ...shared?.defaults, ...model.defaults }
  const overrides = { ...shared?.overrides, ...model.overrides }
  return {
    ...(Object.keys(defaults).length > 0 ? { defaults } : {}),
    ...(Object.keys(overrides).length > 0 ? { overrides } : {}),
  }
}

/** `transformation` and `promptCaching` are shorthand for the policy `ai`; the model wins. */
function changesPolicy(
  shared: Written | undefined,
  model: Written,
  { level, policy, origin }: Pick<Attached, 'level' | 'policy' | 'origin'>,
): readonly Attached[] {
  const transformations = { ...shared?.transformation, ...model.transformation }
  const promptCaching = model.promptCaching ?? shared?.promptCaching
  const value = {
    ...(Object.keys(transformations).length === 0 ? {} : { transformations }),
    ...(promptCaching === undefined ? {} : { promptCaching }),
  }
  if (Object.keys(value).length === 0) return []
  return [{ state: 'valid', kind: 'ai', section: 'backend', level, policy, origin, value }]
}

const BEARER = { kind: 'header', name: 'authorization', prefix: 'Bearer ' } as const

/** `apiKey` is shorthand for the credential; `auth` takes precedence. */
function keyPolicy(
  { apiKey }: Params,
  policies: readonly Attached[],
  place: Pick<Attached, 'level' | 'policy' | 'origin'>,
): readonly Attached[] {
  if (apiKey === undefined || policies.some(({ kind }) => kind === 'backendAuth')) return []
  const { level, policy, origin } = place
  const value = { kind: 'key', key: apiKey, location: BEARER }
  return [{ state: 'valid', kind: 'backendAuth', section: 'backend', level, policy, origin, value }]
}

/** Rejects keys that would modify or restrict what is sent: ignoring them would change behavior. */
function reportUnserved(reading: Reading, node: SectionNode): readonly Diagnostic[] {
  return UNSERVED_KEYS.flatMap((key) => {
    if (node.inner(key).value === undefined) return []
    const message = `\`${key}\` is not supported in \`llm\``
    const hint = 'it would have no effect, so it is rejected rather than ignored'
    return [complain(reading, node.inner(key), { code: 'PC0219', message, hint }, 'key')]
  })
}

function definedOf(value: object | undefined): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(value ?? {}).filter(([, one]) => one !== undefined))
}
