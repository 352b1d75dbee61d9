import type { AiBackend, AiProvider } from '../../model/backend.ts'
import { hashOf } from '../../model/hash.ts'
import type { Budget } from '../../policies/budgets/schema.ts'
import { type Api, apisOf, dependsOnModel } from '../../protocols/llm/schema.ts'
import type { Point } from '../points.ts'
import type { Fact } from '../symbolic/attribute-tree.ts'
import type { Condition } from '../symbolic/space.ts'
import { CALLS, LISTS, STORED } from './call-shapes.ts'
import type { Entry, Ways } from './entries.ts'
import type { RequestForm } from './request-form.ts'
import { requestCondition } from './route-conditions.ts'
import { RULES_ABOUT_MODELS } from './unlooked.ts'

/** Each way to a provider once for each form of requests. */
export function withForms({ entries, ...ways }: Ways): Ways {
  const byKey = new Map<string, Entry>()
  for (const entry of entries.flatMap(formsOf)) {
    if (!byKey.has(entry.key)) byKey.set(entry.key, entry)
  }
  return { ...ways, entries: [...byKey.values()] }
}

function formsOf(entry: Entry): readonly Entry[] {
  const { backend } = entry.where
  if (backend?.kind !== 'ai' || entry.message !== undefined || entry.model !== undefined) {
    return [entry]
  }
  if (entry.points.at(-1)?.stage !== 'backend') return [entry]
  const { [RULES_ABOUT_MODELS]: guarded, ...unlooked } = entry.unlooked
  const served = { ...unlooked, provider: servedUnread(entry, backend) }
  const bare = withFacts({ ...entry, unlooked: served }, NO_CALL)
  const open: RequestForm = {
    name: 'open',
    condition: openCondition(entry, backend),
    shapes: LISTS,
  }
  const other: RequestForm = { name: 'other', condition: undefined, shapes: [] }
  const rejected = { ...bare, key: `${entry.key} other`, form: other, isServed: false }
  const called = withStored(calls(entry, backend))
  if (backend.models !== undefined) return [...called, modelList(entry), rejected]
  return [
    ...called,
    { ...bare, key: `${entry.key} open`, form: open },
    { ...rejected, isServed: entry.isServed && guarded === undefined },
  ]
}

function calls(entry: Entry, backend: AiBackend): Entry {
  const names = (backend.models ?? []).flatMap(({ name, provider, isInternal }) =>
    provider === entry.provider && !isInternal ? [name.replace('*', 'any')] : [],
  )
  const form: RequestForm = { name: 'call', condition: isCallMethod(), shapes: CALLS }
  // Whether the model must be known makes no difference for calls, which name it.
  const { [RULES_ABOUT_MODELS]: _, ...others } = entry.unlooked
  const unlooked = { ...others, provider: servedCalls(entry, backend) }
  // Requests about stored output may name no model: they are like those that are no calls.
  const own = withFacts({ ...entry, unlooked, form }, [['llm.requestModel', { kind: 'set' }]])
  if (names.length === 0) return own
  // Only for examples: rules of a provider are compared for any name.
  const shapes = CALLS.filter(({ model }) => model === undefined)
  return { ...own, form: { ...form, models: names, shapes } }
}

/** Only the provider that was called knows what it stored, so there is no example. */
export function withStored(entry: Entry): readonly Entry[] {
  const { backend } = entry.where
  const provider = backend?.kind === 'ai' ? providerOf(entry, backend) : undefined
  const apis = apisOf(provider?.provider ?? '', provider?.options ?? {})
  const paths = ['responses', 'conversations', 'containers'].map((name) => {
    return `request.path.contains('/${name}/')`
  })
  const condition = hasOtherPaths(entry) ? undefined : requestCondition(paths.join(' || '))
  const form: RequestForm = { name: 'stored', condition, shapes: STORED }
  const isServed = entry.isServed && apis.includes('responses')
  return [entry, { ...entry, key: `${entry.key} stored`, form, isServed }]
}

/** All calls are of this method. */
export function isCallMethod(): Condition | undefined {
  return requestCondition("request.method == 'POST'")
}

/** The gateway itself responds with the names of its models, before a provider is chosen. */
function modelList(entry: Entry): Entry {
  const points = entry.points.filter(({ stage }) => stage !== 'backend')
  const { provider: _, [RULES_ABOUT_MODELS]: __, ...unlooked } = entry.unlooked
  const condition = hasOtherPaths(entry)
    ? undefined
    : requestCondition(`request.method == 'GET' && request.path.endsWith('/models')`)
  const form: RequestForm = { name: 'open', condition, shapes: LISTS }
  const key = [entry.way, entry.match?.hostname, 'list'].join(' ')
  return { ...entry, key, provider: undefined, points, unlooked, form }
}

/** Whether a policy changes the path before it is known what is called. */
function hasOtherPaths({ unlooked }: Entry): boolean {
  return Object.keys(unlooked).some((kind) => kind.endsWith('.path'))
}

/** Without a call, rules see only the provider. */
const NO_CALL: readonly (readonly [string, Fact])[] = [
  ...['requestModel', 'streaming', 'params', 'prompt', 'tools', 'inputTokens'],
].map((field) => [`llm.${field}`, { kind: 'unset' }] as const)

function withFacts(entry: Entry, facts: readonly (readonly [string, Fact])[]): Entry {
  const points = entry.points.map((point) =>
    point.stage === 'backend'
      ? { ...point, facts: new Map([...point.facts, ['llm', { kind: 'set' }], ...facts]) }
      : point,
  )
  return { ...entry, points }
}

/** The paths of requests that are forwarded even if the model must be known. */
function openCondition(entry: Entry, backend: AiBackend): Condition | undefined {
  if (hasOtherPaths(entry)) return undefined
  const paths = (backend.allowEndpoints ?? []).map((path) => {
    const below = path.endsWith('/') ? path : `${path}/`
    return `request.path == ${JSON.stringify(path)} || request.path.startsWith(${JSON.stringify(below)})`
  })
  const list = `request.method == 'GET' && request.path.endsWith('/models')`
  return requestCondition([list, ...paths].map((one) => `(${one})`).join(' || '))
}

/** What determines whether a provider serves a call. */
export function servedCalls(entry: Entry, backend: AiBackend, sent = ''): string {
  const provider = providerOf(entry, backend)
  const { model = sent, ...options } = provider?.options ?? {}
  const matters = dependsOnModel(provider?.provider ?? '', options) || entry.points.some(hasPrices)
  const { allowEndpoints = [] } = backend
  const asked = matters ? model : ''
  const isByName = backend.models !== undefined
  return hashOf([provider?.provider ?? '', options, asked, allowEndpoints, isByName])
}

/** Without a call, the provider makes a difference only if requests to it are signed. */
function servedUnread(entry: Entry, backend: AiBackend): string {
  const { allowEndpoints = [] } = backend
  const isSigned = entry.points.some(({ effective }) => effective.has('backendAuth'))
  const kind = isSigned ? providerOf(entry, backend)?.provider : undefined
  return hashOf([kind ?? '', allowEndpoints])
}

function providerOf(entry: Entry, { groups }: AiBackend): AiProvider | undefined {
  return groups.flatMap(({ providers }) => providers).find(({ name }) => name === entry.provider)
}

/** Calls to models without a price are denied. */
function hasPrices({ effective }: Point): boolean {
  const budgets = (effective.get('budgets') ?? []).flatMap(
    ({ value }) => value as readonly Budget[],
  )
  return budgets.some(({ measure }) => measure === 'usd') || effective.has('remoteRateLimit')
}

/** The APIs in which the provider is sent calls as they are, if nothing else decides about them. */
export function plainApisOf(entry: Entry): ReadonlySet<Api> {
  const { backend } = entry.where
  const provider = backend?.kind === 'ai' ? providerOf(entry, backend) : undefined
  const isChanged = entry.points.some(
    (point) => hasPrices(point) || CHANGING.some((kind) => point.effective.has(kind)),
  )
  if (provider === undefined || isChanged) return new Set()
  return new Set(apisOf(provider.provider, provider.options).filter((api) => PLAIN.has(api)))
}

/** Whether the provider may be sent calls in this API, as they are or translated. */
export function mayServe(entry: Entry, api: Api): boolean {
  const { backend } = entry.where
  const provider = backend?.kind === 'ai' ? providerOf(entry, backend) : undefined
  const apis = apisOf(provider?.provider ?? '', provider?.options ?? {})
  return apis.includes(api) || (TRANSLATED.has(api) && apis.some((one) => TRANSLATED.has(one)))
}

const TRANSLATED: ReadonlySet<Api> = new Set([
  'completions',
  'responses',
  'messages',
  'gemini',
  'converse',
])

/** These change calls, reject them, or sign them. */
const CHANGING = ['ai', 'guardrails', 'backendAuth']

/** The path of others names the model, or they refer to what one provider stores. */
const PLAIN: ReadonlySet<Api> = new Set([
  'completions',
  'messages',
  'embeddings',
  'rerank',
  'other',
])

/** The requests that are calls in this API, or more. */
export function callCondition(api: Api, entry: Entry): Condition | undefined {
  const end = ENDS[api]
  if (end === undefined || hasOtherPaths(entry)) return undefined
  const path = end.map((one) => `request.path.endsWith(${JSON.stringify(one)})`).join(' || ')
  return requestCondition(`request.method == 'POST' && (${path})`)
}

const ENDS: Readonly<Partial<Record<Api, readonly string[]>>> = {
  completions: ['/chat/completions'],
  messages: ['/messages', '/messages/count_tokens'],
  embeddings: ['/embeddings'],
  converse: ['/converse', '/converse-stream'],
  rerank: ['/rerank'],
}
