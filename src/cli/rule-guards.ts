import { type Guard, guardsAt } from '../analysis/guards.ts'
import type { AiBackend } from '../model/backend.ts'
import type { Model } from '../model/model.ts'
import type { Attached } from '../model/policy.ts'
import type { Match } from '../model/route.ts'
import type { Authorization } from '../policies/authorization-rules.ts'
import type { HypotheticalRequest } from '../program/explain.ts'
import { clientCertificates } from '../program/explain-listener.ts'
import type { GuardedWay, RuleGuard } from '../program/protection.ts'
import { RULE_KINDS } from '../reach/points.ts'
import { hypotheticalOf, NO_NAMES } from './diff.ts'
import { messageGuards } from './message-guards.ts'
import { openVerdicts, type Verdicts } from './verdicts.ts'

/**
 * Whether Allow and Require rules deny anything. The program first evaluates some plain requests,
 * since one denial is sufficient; if it denies none, a proof is attempted.
 */
export function ruleGuards(model: Model): RuleGuard & Pick<Verdicts, 'close'> {
  // Denials by Deny rules must not count as denials by the others.
  const asking = withoutDenies(model)
  const verdicts = openVerdicts(asking)
  let proven: ReadonlyMap<string, ReturnType<typeof guardsAt>> | undefined
  const guards = (way: GuardedWay): ReturnType<RuleGuard> => {
    if (isDenyingSome(way, backendOf(model, way), verdicts)) return 'something'
    proven ??= Map.groupBy(guardsAt(asking, {}, 'anonymous'), ({ way: one }) => keyOf(one))
    const { gateway, listener, route, backend, provider } = way
    const place = { listener: `${gateway.name}/${listener.name}`, route: route?.name ?? '' }
    const found = proven.get(keyOf({ ...place, backend, provider })) ?? []
    return together(found.map(({ guard }) => guardBy(guard, way, verdicts)))
  }
  const messagesGuard = messageGuards(asking, verdicts)
  const messages = (way: GuardedWay) => {
    const { rule, route } = way
    const plain = (rule?.matches ?? []).flatMap((match) =>
      namesOf(way).flatMap((name) => plainRequests(way, name, match)),
    )
    return route === undefined ? 'unknown' : messagesGuard(way, plain)
  }
  return Object.assign(guards, { messages, close: () => verdicts.close() })
}

interface Named {
  readonly listener: string
  readonly route: string
  readonly backend: string | undefined
  readonly provider: string | undefined
}

function keyOf({ listener, route, backend, provider }: Named): string {
  return JSON.stringify([listener, route, backend, provider])
}

/** An example may be a request that cannot be sent, so the program decides. */
function guardBy(guard: Guard, { route }: GuardedWay, verdicts: Verdicts): Guard['kind'] {
  if (guard.kind !== 'something') return guard.kind
  const { example } = guard
  const {
    isAdmitted,
    isUnserved,
    route: taken,
  } = verdicts.decide(hypotheticalOf(example), example.isConnection)
  const isRejected = !isAdmitted && isUnserved !== true
  return isRejected && taken === (route?.name ?? '') ? 'something' : 'unknown'
}

/** Combines all matches and hostnames that lead there, except those that no request takes. */
function together(all: readonly Guard['kind'][]): ReturnType<RuleGuard> {
  const taken = all.filter((kind) => kind !== 'not-taken')
  if (all.length === 0 || taken.includes('unknown')) return 'unknown'
  if (!taken.includes('something')) return 'nothing'
  return taken.includes('nothing') ? 'part' : 'something'
}

function backendOf({ backends }: Model, { backend }: GuardedWay): AiBackend | undefined {
  const found = backends.find(({ name }) => name === backend)
  return found?.kind === 'ai' ? found : undefined
}

/** Whether each match and each hostname has a request that takes it and is denied. */
function isDenyingSome(way: GuardedWay, ai: AiBackend | undefined, verdicts: Verdicts): boolean {
  const { rule, route } = way
  if (rule === undefined || route === undefined) return false
  return namesOf(way).every((name) =>
    rule.matches.every((match) =>
      requestsFor(way, ai, name, match).some((request) => {
        const { isAdmitted, isUnserved, route: taken } = verdicts.decide(request)
        return !isAdmitted && isUnserved !== true && taken === route.name
      }),
    ),
  )
}

function requestsFor(way: GuardedWay, ai: AiBackend | undefined, name: string, match: Match) {
  const plain = way.model === undefined ? plainRequests(way, name, match) : []
  return [...plain, ...plainCalls(way, ai, name, match)]
}

function namesOf({ route, listener }: GuardedWay): readonly string[] {
  const { hostnames = [] } = route ?? {}
  return hostnames.length === 0 ? [listener.hostname ?? '*'] : hostnames
}

function plainRequests(
  way: GuardedWay,
  hostname: string,
  match: Match,
): readonly HypotheticalRequest[] {
  const { path, method } = match
  const paths = path.kind === 'prefix' ? [path.value, `${below(path.value)}x`] : [path.value]
  const methods = method === undefined ? ['GET', 'POST'] : [method]
  return paths.flatMap((own) =>
    methods.map((verb) => ({
      ...anonymousRequest(way, hostname, match),
      method: verb,
      path: own,
    })),
  )
}

function anonymousRequest(
  { gateway, listener, backend, provider }: GuardedWay,
  hostname: string,
  { headers }: Match,
) {
  const [named = 'example.com'] = [hostname, listener.hostname ?? '*'].filter(
    (name) => name !== '*',
  )
  return {
    search: '',
    host: named.replace(/^\*\./, 'a.'),
    headers: headers.map(({ name, value }) => [name, value] as const),
    source: '203.0.113.7',
    sourcePort: 40_000,
    certificate: clientCertificates({ listener }) === 'Require' ? NO_NAMES : undefined,
    identity: {},
    isWhole: true as const,
    listener: `${gateway.name}/${listener.name}`,
    backend,
    provider,
  }
}

function below(path: string): string {
  return path.endsWith('/') ? path : `${path}/`
}

/** Small and large, with all common fields of calls: rules on models depend on nothing else. */
const CALLS: readonly object[] = [
  { messages: [{ role: 'user', content: 'hello' }] },
  {
    messages: [{ role: 'user', content: 'hello '.repeat(20_000) }],
    max_tokens: 1_000_000,
    temperature: 2,
    stream: true,
    tools: [{ type: 'function', function: { name: 'run', parameters: { type: 'object' } } }],
  },
]

/** Calls to the models of the provider. */
function plainCalls(
  way: GuardedWay,
  ai: AiBackend | undefined,
  hostname: string,
  match: Match,
): readonly HypotheticalRequest[] {
  const { path, method = 'POST' } = match
  if (ai === undefined || path.kind !== 'prefix' || method !== 'POST') return []
  return modelsOf(ai, way).flatMap((model) =>
    CALLS.map((call) => {
      const content = Buffer.from(JSON.stringify({ model, ...call }))
      const limits = { body: content.length, json: content.length }
      const request = anonymousRequest(way, hostname, match)
      return {
        ...request,
        method,
        path: `${below(path.value)}v1/chat/completions`,
        headers: [...request.headers, ['content-length', String(content.length)] as const],
        body: { content, rejected: undefined, limits },
      }
    }),
  )
}

/** Names by which clients reach the provider. */
function modelsOf(
  { models, virtualModels = [] }: AiBackend,
  { provider, model }: GuardedWay,
): readonly string[] {
  if (model !== undefined) return [model.replace('*', 'x')]
  if (models === undefined) return ['model']
  const isOwn = (one: { readonly provider: string }) =>
    provider === undefined || one.provider === provider
  const own = models.filter((one) => isOwn(one) && !one.isInternal)
  const virtual = virtualModels.filter(({ targets }) => targets.some(isOwn))
  return [...own, ...virtual].map(({ name }) => name.replace('*', 'x'))
}

function withoutDenies(model: Model): Model {
  return without(model) as Model
}

/**
 * A Model is plain data: lists, objects and scalars. Values without rules stay the same objects,
 * since secrets are identified by the objects that refer to them.
 */
function without(value: unknown): unknown {
  if (Array.isArray(value)) {
    const kept = value.flatMap((one): readonly unknown[] =>
      isRules(one) ? asking(one) : [without(one)],
    )
    const isSame = kept.length === value.length && kept.every((one, at) => one === value[at])
    return isSame ? value : kept
  }
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  const kept = entries.map(([key, one]) => [key, without(one)] as const)
  const isSame = kept.every(([, one], at) => one === entries[at]?.[1])
  return isSame ? value : Object.fromEntries(kept)
}

function isRules(value: unknown): value is Attached & { readonly value: Authorization } {
  const { kind, state } = (value ?? {}) as Partial<Attached>
  return state === 'valid' && kind !== undefined && RULE_KINDS.has(kind)
}

function asking(policy: Attached & { readonly value: Authorization }): readonly Attached[] {
  const rules = policy.value.rules.filter(({ action }) => action !== 'Deny')
  if (rules.length === policy.value.rules.length) return [policy]
  return rules.length === 0 ? [] : [{ ...policy, value: { ...policy.value, rules } } as Attached]
}
