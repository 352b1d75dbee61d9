import type { Variables } from '../cel/index.ts'
import type { JsonObject, Value } from '../cel/values/value.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import type { AiBackend } from '../model/backend.ts'
import { matchesModel } from '../model/model-names.ts'
import { recognizeEndpoint } from '../protocols/llm/index.ts'
import { ModelCall } from './model-call.ts'
import type { ModelRouter } from './model-router.ts'
import type { AiUpstream, ProviderProgram, Selection } from './program.ts'
import { type ProviderMember, ProviderSelection, type SelectionPlan } from './provider-selection.ts'

/** How requests to an AI backend become calls to models. */
export function aiUpstream(
  backend: AiBackend,
  providers: readonly ProviderProgram[],
  plan: SelectionPlan,
  router: ModelRouter | undefined,
): AiUpstream {
  const readsModel = providers.some((one) => one.readsModel)
  const allowed = backend.allowEndpoints ?? []
  const startedAt = Math.floor(Date.now() / 1000)

  const open = (exchange: Exchange): ModelCall | Reply | undefined => {
    const { request, path } = exchange
    const endpoint = recognizeEndpoint(request.method, path)
    if (endpoint?.operation === 'models') {
      return router && listModels(router, exchange, startedAt)
    }
    if (endpoint !== undefined) return new ModelCall(endpoint)
    if (router !== undefined) return NOT_SERVED
    const isCounted = exchange.usageLimits.length > 0
    const isGuarded = readsModel || isCounted || allowedModels(exchange) !== undefined
    return isGuarded && !allowed.some((one) => isBelow(path, one)) ? UNREAD_MODEL : undefined
  }

  const planFor = (exchange: Exchange, call: ModelCall): SelectionPlan | Reply => {
    if (!mayUse(allowedModels(exchange), call.model)) return MODEL_NOT_ALLOWED
    exchange.llm = call.attributes
    return router === undefined ? plan : router.plan(exchange, call)
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
 * A batch is a file of requests, and what an organization has is not asked for by model: rules about
 * models cannot see what such a request is for, so that it needs a word of its own.
 */
const UNREAD_MODEL: Reply = {
  ...reply(403, 'authorization'),
  detail: 'unread-model',
  message: 'Rules and limits of models cannot be applied to this endpoint, so it is denied.',
}

const NOT_SERVED: Reply = {
  ...reply(404, 'no-backend'),
  detail: 'unknown-endpoint',
  message: 'The gateway does not serve this endpoint.',
}

const MODEL_NOT_ALLOWED: Reply = {
  ...reply(403, 'authorization'),
  detail: 'model-not-allowed',
  message: 'This API key may not use this model.',
  code: 'model_not_allowed',
}

/** Whether the path is this one, or below it. */
function isBelow(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(prefix.endsWith('/') ? prefix : `${prefix}/`)
}

/** What the key of the client is limited to; undefined: nothing. */
function allowedModels(exchange: Exchange): Value | undefined {
  if (exchange.identity === undefined) return undefined
  exchange.enter(undefined)
  return exchange.apiKey?.allowedModels
}

/** What is no list of names allows nothing. */
function mayUse(allowed: Value | undefined, model: string): boolean {
  if (allowed === undefined) return true
  if (!Array.isArray(allowed)) return false
  return allowed.some((pattern) => typeof pattern === 'string' && matchesModel(pattern, model))
}

/** The models that this client may use, as OpenAI lists them; Anthropic's SDK reads the same. */
function listModels(router: ModelRouter, exchange: Exchange, created: number): Reply {
  const allowed = allowedModels(exchange)
  const data = [...router.names(exchange)]
    .filter(([name, members]) => mayUse(allowed, name) && members.some(mayBeUsed(exchange, name)))
    .map(([id, members]) => ({
      id,
      object: 'model',
      created,
      owned_by: members[0]?.program.target.access.telemetryName(members[0].program.target.options),
      // Of Anthropic's list.
      type: 'model',
      display_name: id,
      created_at: new Date(created * 1000).toISOString(),
    }))
  const first_id = data[0]?.id ?? null
  const last_id = data.at(-1)?.id ?? null
  const body = { object: 'list', data, has_more: false, first_id, last_id }
  return {
    ...reply(200, 'direct-response', `${JSON.stringify(body)}\n`),
    contentType: 'application/json',
  }
}

/** What rules say of a call that names the model and nothing else. */
function mayBeUsed(exchange: Exchange, name: string) {
  return ({ program }: ProviderMember): boolean => {
    const { backend, llm } = exchange
    exchange.backend = program.attributes
    exchange.llm = { requestModel: name, provider: program.provider } satisfies JsonObject
    const decision = program.decider?.decide(exchange as unknown as Variables)
    exchange.backend = backend
    exchange.llm = llm
    return decision === undefined || decision.isAllowed || !decision.isEnforced
  }
}
