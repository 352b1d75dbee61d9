import type { JsonObject, Value } from '../cel/values/value.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import type { AiBackend } from '../model/backend.ts'
import { matchesModel } from '../model/model-names.ts'
import { callerOf } from '../protocols/caller.ts'
import { type Endpoint, recognizeEndpoint, StateIds } from '../protocols/llm/index.ts'
import { balancer } from '../upstream/balance.ts'
import { ModelCall } from './model-call.ts'
import type { ModelRouter } from './model-router.ts'
import { ModelState, unknownState } from './model-state.ts'
import type { AiUpstream, ProviderProgram, Selection } from './program.ts'
import { type ProviderMember, ProviderSelection, type SelectionPlan } from './provider-selection.ts'

/** Turns requests to an AI backend into calls to models. */
export function aiUpstream(
  backend: AiBackend,
  providers: readonly ProviderProgram[],
  plan: SelectionPlan,
  router: ModelRouter | undefined,
  { sealKey, random }: { readonly sealKey: Uint8Array; readonly random: () => number },
): AiUpstream {
  const ids = new StateIds(sealKey)
  const names = providers.map(({ target }) => target.name)
  const readsModel = providers.some((one) => one.readsModel)
  const allowed = backend.allowEndpoints ?? []
  const startedAt = Math.floor(Date.now() / 1000)

  const open = (exchange: Exchange): ModelCall | Reply | undefined => {
    const { request, path } = exchange
    const endpoint = recognizeEndpoint(request.method, path)
    if (endpoint?.operation === 'models') {
      return router && listModels(router, exchange, startedAt, endpoint.dialect)
    }
    if (endpoint?.dialect === 'responses') return openStateful(endpoint, exchange)
    if (endpoint === undefined) return unread(exchange)
    return endpoint.operation === 'other' ? openOther(endpoint, exchange) : new ModelCall(endpoint)
  }

  /** Returns a reply if a request that does not name its model must be rejected. */
  const unread = (exchange: Exchange): Reply | undefined => {
    if (router !== undefined) return NOT_SERVED
    return isGuarded(exchange) ? UNREAD_MODEL : undefined
  }

  const isGuarded = (exchange: Exchange): boolean => {
    if (allowed.some((one) => isBelow(exchange.path, one))) return false
    const isCounted = exchange.usageLimits.length > 0
    return readsModel || isCounted || allowedModels(exchange) !== undefined
  }

  /** Bytes pass unless the model affects the decision; then it must be known. */
  const openOther = (endpoint: Endpoint, exchange: Exchange): ModelCall | Reply | undefined => {
    if (router === undefined && !isGuarded(exchange)) return undefined
    // Their usage is not measured in tokens.
    const isCounted = exchange.usageLimits.some(({ measure }) => measure !== 'requests')
    return isCounted ? UNREAD_MODEL : new ModelCall(endpoint)
  }

  /** For the dialect whose providers store objects that clients reference by ID. */
  const openStateful = (endpoint: Endpoint, exchange: Exchange): ModelCall | Reply => {
    const state = new ModelState(ids, callerOf(exchange), names)
    if (endpoint.operation !== 'state') return new ModelCall(endpoint, state)
    if (endpoint.state === undefined) return NOT_SERVED
    const unknown = state.openPath(endpoint.state.ids)
    if (unknown !== undefined) return unknown
    const denied = state.model === undefined ? unread(exchange) : undefined
    return denied ?? new ModelCall(endpoint, state)
  }

  const planFor = (exchange: Exchange, call: ModelCall): SelectionPlan | Reply => {
    const isKnown = call.endpoint.operation !== 'state' || call.model !== ''
    if (isKnown && !mayUse(allowedModels(exchange), call.model)) return MODEL_NOT_ALLOWED
    exchange.llm = call.attributes
    exchange.llmRequest = call.body
    const own = router === undefined ? plan : router.plan(exchange, call)
    return 'status' in own ? own : ownedBy(call.state, own, random)
  }

  const select = (exchange: Exchange, call?: ModelCall): Selection | Reply => {
    if (call === undefined) return new ProviderSelection(exchange, plan)
    const own = planFor(exchange, call)
    return 'status' in own ? own : new ProviderSelection(exchange, own, call)
  }

  const candidates = (exchange: Exchange, call: ModelCall) => {
    const own = planFor(exchange, call)
    return 'status' in own ? own : own.groups.flat()
  }

  return { kind: 'ai', providers, choosesByModel: router !== undefined, open, select, candidates }
}

/**
 * A batch is a file of requests, and the resources of an organization do not belong to a model:
 * rules about models cannot see which model such a request is for, so it must be allowed
 * explicitly.
 */
const UNREAD_MODEL: Reply = {
  ...reply(403, 'authorization'),
  detail: 'unread-model',
  message: 'Model rules and limits cannot be applied to this endpoint, so it is denied.',
}

const NOT_SERVED: Reply = {
  ...reply(404, 'no-backend'),
  detail: 'unknown-endpoint',
  message: 'The gateway does not serve this endpoint.',
}

const MODEL_NOT_ALLOWED: Reply = {
  ...reply(403, 'authorization'),
  detail: 'model-not-allowed',
  message: 'This API key is not allowed to use this model.',
  code: 'model_not_allowed',
}

/** Whether the path equals the prefix or is below it. */
function isBelow(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`)
}

/** The models that the client's key is limited to; undefined if it is not limited. */
function allowedModels(exchange: Exchange): Value | undefined {
  if (exchange.identity === undefined) return undefined
  exchange.enter(undefined)
  return exchange.apiKey?.allowedModels
}

/**
 * Everything a call references is stored by one provider, and no other provider can serve the call.
 */
function ownedBy(
  state: ModelState | undefined,
  plan: SelectionPlan,
  random: () => number,
): SelectionPlan | Reply {
  if (state === undefined || (state.provider === undefined && state.unknown === undefined)) {
    return plan
  }
  const { provider } = state
  const all = plan.groups.flat()
  const isStored = all.some(({ target }) =>
    target.access.dialects(target.options).includes('responses'),
  )
  // Providers that store nothing report that the call cannot be translated.
  if (!isStored) return plan
  const member = all.find(({ target }) => target.name === provider)
  if (state.unknown !== undefined) return unknownState(state.unknown)
  // Another provider stores it, which does not serve this model.
  if (member === undefined) return state.first === undefined ? plan : unknownState(state.first)
  const members = [member]
  const balancers = [balancer('LeastRequest', members, { hashKey: undefined, random })]
  return { groups: [members], balancers, failsOver: false }
}

/** A value that is not a list of names allows nothing. */
function mayUse(allowed: Value | undefined, model: string): boolean {
  if (allowed === undefined) return true
  if (!Array.isArray(allowed)) return false
  return allowed.some((pattern) => typeof pattern === 'string' && matchesModel(pattern, model))
}

/**
 * Lists the models that this client may use: in Google's format, or in OpenAI's, which Anthropic's
 * SDK can read too.
 */
function listModels(
  router: ModelRouter,
  exchange: Exchange,
  created: number,
  dialect: Endpoint['dialect'],
): Reply {
  const allowed = allowedModels(exchange)
  const data = [...router.names(exchange)]
    .filter(([name, members]) => mayUse(allowed, name) && members.some(mayBeUsed(exchange, name)))
    .map(([id, members]) => ({
      id,
      object: 'model',
      created,
      owned_by: members[0]?.program.target.access.telemetryName(members[0].program.target.options),
      // Members of Anthropic's list.
      type: 'model',
      display_name: id,
      created_at: new Date(created * 1000).toISOString(),
    }))
  const first_id = data[0]?.id ?? null
  const last_id = data.at(-1)?.id ?? null
  const list = { object: 'list', data, has_more: false, first_id, last_id }
  const body = dialect === 'gemini' ? { models: data.map(({ id }) => geminiModel(id)) } : list
  return {
    ...reply(200, 'direct-response', `${JSON.stringify(body)}\n`),
    detail: 'models',
    contentType: 'application/json',
  }
}

/** A model as Google's API lists it; all of its members but these are about one provider. */
function geminiModel(name: string) {
  const supportedGenerationMethods = ['generateContent', 'streamGenerateContent']
  return { name: `models/${name}`, displayName: name, supportedGenerationMethods }
}

/** Whether rules may allow a call to the model; the rest of the call decides later. */
function mayBeUsed(exchange: Exchange, name: string) {
  return ({ program }: ProviderMember): boolean => {
    const { backend, llm } = exchange
    exchange.backend = program.attributes
    exchange.llm = { requestModel: name, provider: program.provider } satisfies JsonObject
    const isPossible = program.mayAllow(exchange)
    exchange.backend = backend
    exchange.llm = llm
    return isPossible
  }
}
