import * as z from 'zod'
import type { Diagnostic } from '../../../diagnostics/diagnostic.ts'
import { hasErrors } from '../../../diagnostics/result.ts'
import type { AiBackend, AiModel, AiProvider, Backend } from '../../../model/backend.ts'
import type { Gateway } from '../../../model/gateway.ts'
import type { Attached } from '../../../model/policy.ts'
import type { Match, Parent, Route } from '../../../model/route.ts'
import { KEY_HEADERS, MODEL_PATHS } from '../../../protocols/llm/schema.ts'
import type { Placed } from '../../../reach/checks/draft.ts'
import { readPolicies } from '../policies.ts'
import { complain, parseAt, type Reading } from '../reading.ts'
import type { SectionNode } from '../section-node.ts'
import { portOf, toListener } from './gateways.ts'
import { type NamedProviders, readModelProvider, readNamedProviders } from './llm-providers.ts'
import { llmHead, MODEL_POLICIES, modelSchema, SECTIONS } from './llm-schema.ts'
import { readVirtualModels } from './virtual-models.ts'

/** Expands `llm` into a route to a backend of models, and a port if it has one. */
export interface ReadLlm {
  readonly gateways: readonly Placed<Gateway>[]
  readonly routes: readonly Placed<Route>[]
  readonly backends: readonly Placed<Backend>[]
}

const NO_MODELS: ReadLlm = { gateways: [], routes: [], backends: [] }
const NAME = 'llm'

const head = z.strictObject(llmHead)
/** The default port if a file defines no gateways. */
const DEFAULT_PORT = 4000

const modelList = z.array(z.unknown()).min(1).max(1000)

export function readLlm(reading: Reading): ReadLlm {
  const node = reading.root.inner('llm')
  if (node.value === undefined) return NO_MODELS
  const except = ['models', 'providers', 'policies']
  const { value, diagnostics } = parseAt(reading, head, node, { stage: 'llm', except })
  const listed = parseAt(reading, modelList, node.inner('models'))
  const problems: Diagnostic[] = [...diagnostics, ...listed.diagnostics]
  const written = readPolicies(reading, node.inner('policies'), {
    sections: SECTIONS,
    level: 'route',
    policy: `route:${NAME}`,
  })
  const policies = written.map((policy) => withKeyHeaders(node.inner('policies'), policy))
  const named = readNamedProviders(reading, node.inner('providers'), problems)
  const read = (listed.value ?? []).flatMap(
    (_, index) => readModel(reading, node.inner('models', index), named, problems) ?? [],
  )
  distinguish(reading, read, problems)
  const models = read.map(({ model }) => model)
  const virtualModels = readVirtualModels(
    reading,
    node,
    value?.virtualModels ?? [],
    models,
    problems,
  )
  const { origin, place } = node
  const identity = { name: NAME, origin, policies: [] }
  const providers = read.map(({ provider }) => provider)
  const backend: AiBackend | Backend = hasErrors(problems)
    ? { ...identity, kind: 'invalid', diagnostics: problems }
    : { ...identity, kind: 'ai', groups: [{ providers }], models, virtualModels }
  const own = portOf(reading, value, DEFAULT_PORT)
  const gateways = own === undefined ? [] : [gatewayOf(reading, node, own, value?.tls)]
  const route: Route = {
    name: NAME,
    origin,
    parents: own === undefined ? parentsOf(value?.gateways) : [{ gateway: NAME }],
    hostnames: [],
    policies,
    rules: [
      {
        name: NAME,
        origin,
        matches: (own === undefined ? MODEL_PATHS : ['/']).map(below),
        policies: [],
        action: { kind: 'forward', backends: [{ backend: NAME, weight: 1, policies: [] }] },
      },
    ],
  }
  const placed = <T>(thing: T): Placed<T> => ({ thing, place })
  return { gateways, routes: [placed(route)], backends: [placed(backend)] }
}

/** Each vendor's SDK sends keys in its own header: by default, all of them are accepted. */
function withKeyHeaders(node: SectionNode, policy: Attached): Attached {
  if (policy.kind !== 'apiKey' || policy.state !== 'valid') return policy
  const keys = ['apiKey', 'apiKeyAuthentication']
  if (keys.some((key) => node.inner(key, 'location').value !== undefined)) return policy
  const value = policy.value as { readonly location: object }
  return { ...policy, value: { ...value, location: { ...value.location, alsoIn: KEY_HEADERS } } }
}

function below(value: string): Match {
  return { path: { kind: 'prefix', value }, headers: [], query: [] }
}

function parentsOf(names: string | readonly string[] | undefined): readonly Parent[] {
  const all = typeof names === 'string' ? [names] : (names ?? ['default'])
  return all.map((gateway) => ({ gateway }))
}

function gatewayOf(
  reading: Reading,
  node: SectionNode,
  port: number,
  tls: z.output<typeof head>['tls'],
): Placed<Gateway> {
  const read = { value: { port, tls }, diagnostics: [] }
  const listener = toListener(reading, node, read, { name: 'default', policies: [] })
  const { place } = node
  const gateway = { name: NAME, origin: place.origin, listeners: [listener], policies: [] }
  return { thing: gateway, place }
}

interface ReadModel {
  readonly model: AiModel
  readonly provider: AiProvider
  readonly node: SectionNode
}

function readModel(
  reading: Reading,
  node: SectionNode,
  named: NamedProviders,
  problems: Diagnostic[],
): ReadModel | undefined {
  const { value, diagnostics } = parseAt(reading, modelSchema, node, {
    stage: 'llm',
    except: MODEL_POLICIES,
  })
  problems.push(...diagnostics)
  if (value === undefined) return undefined
  if (value.passthrough === 'opaque') {
    const message = '`passthrough: opaque` is not supported'
    const hint =
      'the gateway cannot guard traffic that it does not parse, so it is rejected rather than ignored'
    const said = { code: 'PC0219', message, hint } as const
    problems.push(complain(reading, node.inner('passthrough'), said, 'key'))
  }
  const name = value.id ?? value.name
  const provider = readModelProvider(reading, node, { ...value, name }, named, problems)
  if (provider === undefined) return undefined
  const matches = value.matches?.map(({ headers = [] }) =>
    headers.map((header) => ({ ...header, name: header.name.toLowerCase() })),
  )
  const isInternal = value.visibility === 'internal'
  const model = { name: value.name, provider: name, isInternal }
  return { model: matches === undefined ? model : { ...model, matches }, provider, node }
}

/** Rules, metrics and virtual models must be able to distinguish models. */
function distinguish(reading: Reading, models: readonly ReadModel[], problems: Diagnostic[]): void {
  const known = new Set<string>()
  for (const { provider, node } of models) {
    if (known.has(provider.name)) {
      const said = {
        code: 'PC0303',
        message: `another model is already named \`${provider.name}\``,
        hint: 'set a unique `id` on each',
      } as const
      problems.push(complain(reading, node.inner('name'), said))
    }
    known.add(provider.name)
  }
}
