import type { Backend } from '../model/backend.ts'
import type { Gateway, Listener } from '../model/gateway.ts'
import { hashOf } from '../model/hash.ts'
import type { Model } from '../model/model.ts'
import type { Attached, InvalidPolicy, Section, ValidPolicy } from '../model/policy.ts'
import type { BackendRef, Route, RouteRule } from '../model/route.ts'
import type { Authorization } from '../policies/schema.ts'
import { isAttached } from '../reach/attachment.ts'
import { placeFacts } from './place-facts.ts'
import { type PlacedRule, type RuleReader, type RuleStage, ruleReader } from './placed-rule.ts'
import { type Layer, type Scoping, scopesAt } from './scopes.ts'
import type { Facts } from './symbolic/attribute-tree.ts'

/** A place where rules decide: a listener, a rule of a route, a backend behind it. */
export interface Point {
  readonly stage: RuleStage
  readonly where: Where
  /** Of all policies that reach it, in the order of levels; those in audit mode too. */
  readonly rules: readonly PlacedRule[]
  /** Policies that could not be read: they refuse everything here. */
  readonly invalid: readonly InvalidPolicy[]
  /** What is known of every request that comes here. */
  readonly facts: Facts
  /** Authentications that a request passes before it comes here. */
  readonly authentications: readonly ValidPolicy[]
  /** Names of variables that they set for whoever passes. */
  readonly required: readonly string[]
  /** How a policy within all of them sees who asks, by variable. */
  readonly names: ReadonlyMap<string, string>
  /** Of a connection: what the gateway goes by in who it comes from, by setting. */
  readonly believes: Readonly<Record<string, string>>
}

export interface Where {
  readonly gateway: Gateway
  readonly listener: Listener
  readonly route?: Route
  readonly rule?: RouteRule
  readonly ref?: BackendRef
  readonly backend?: Backend
  readonly provider?: string
  /** One server of an MCP backend. */
  readonly target?: string
}

/** Every place of the Model where rules can decide, in the order of the file. */
export function* pointsOf(model: Model, read: RuleReader = ruleReader()): Generator<Point> {
  const backends = new Map(model.backends.map((backend) => [backend.name, backend]))
  for (const gateway of model.gateways) {
    for (const listener of gateway.listeners) {
      const around = [
        { policies: model.frontend },
        { policies: gateway.policies },
        { policies: listener.policies },
      ]
      const where = { gateway, listener }
      yield point(read, 'connection', where, around)
      if (listener.protocol !== 'HTTP' && listener.protocol !== 'HTTPS') continue
      yield point(read, 'traffic', where, around)
      for (const route of model.routes) {
        if (!isAttached(route, gateway, listener)) continue
        for (const rule of route.rules) {
          const own = [...around, { policies: route.policies }, { policies: rule.policies }]
          yield point(read, 'traffic', { ...where, route, rule }, own)
          if (rule.action.kind !== 'forward') continue
          for (const ref of rule.action.backends) {
            const backend = backends.get(ref.backend)
            if (backend === undefined) continue
            yield* backendPoints(read, { ...where, route, rule, ref, backend }, own)
          }
        }
      }
    }
  }
}

function* backendPoints(
  read: RuleReader,
  where: Where & { readonly ref: BackendRef; readonly backend: Backend },
  around: readonly Layer[],
): Generator<Point> {
  const { backend, ref } = where
  const layers = [...around, { policies: backend.policies }, { policies: ref.policies }]
  if (backend.kind === 'ai') {
    // Rules decide once a provider is chosen, and about each by itself.
    for (const { name, policies } of backend.groups.flatMap(({ providers }) => providers)) {
      yield point(read, 'backend', { ...where, provider: name }, [...layers, { policies }])
    }
    return
  }
  yield point(read, 'backend', where, layers)
  if (backend.kind !== 'mcp') return
  yield point(read, 'mcp', where, layers)
  for (const { name, policies } of backend.targets) {
    if (!policies.some(({ kind }) => kind === KINDS.mcp)) continue
    yield point(read, 'mcp', { ...where, target: name }, [...layers, { policies }])
  }
}

const KINDS: Readonly<Record<RuleStage, string>> = {
  connection: 'networkAuthorization',
  traffic: 'authorization',
  backend: 'authorization',
  mcp: 'mcpAuthorization',
}

const SECTIONS: Readonly<Record<RuleStage, Section>> = {
  connection: 'frontend',
  traffic: 'traffic',
  backend: 'backend',
  mcp: 'backend',
}

function point(read: RuleReader, stage: RuleStage, where: Where, layers: readonly Layer[]): Point {
  const section = SECTIONS[stage]
  const scoping = scopesAt(layers, section)
  const reached = layers.map(({ policies }) => policies.filter((one) => one.section === section))
  const rules = reached.flatMap((policies, depth) =>
    policies.filter(isValidOf(KINDS[stage])).flatMap((policy) => {
      return read(policy, stage, scoping.namesFor(policy, depth))
    }),
  )
  const invalid = reached.flat().filter(isInvalid)
  const names = scoping.namesWithin()
  return {
    stage,
    where,
    rules,
    invalid: stage === 'connection' ? invalid.filter(({ kind }) => kind === KINDS[stage]) : invalid,
    facts: factsOf(stage, where, scoping),
    authentications: stage === 'connection' ? [] : scoping.authentications,
    required: stage === 'connection' ? [] : scoping.required,
    names,
    believes: stage === 'connection' ? beliefsOf(where, reached) : {},
  }
}

/** Proxies in front, and authorities of client certificates. */
function beliefsOf(
  { listener }: Where,
  reached: readonly (readonly Attached[])[],
): Point['believes'] {
  const settled = (kind: string) => {
    // The most specific level counts, and of one level the first.
    const found = reached.findLast((policies) => policies.some((one) => one.kind === kind))
    const policy = found?.find((one) => one.kind === kind)
    return policy?.state === 'valid' ? policy.value : undefined
  }
  const http = settled('frontendHttp') as { readonly trustedHops?: number } | undefined
  const isEncrypted = listener.protocol === 'HTTPS' || listener.protocol === 'TLS'
  const tls = isEncrypted && listener.tls.mode === 'Terminate' ? listener.tls : undefined
  return {
    proxyProtocol: hashOf(settled('proxyProtocol') ?? null),
    'http.trustedHops': hashOf(http?.trustedHops ?? 0),
    // Whether one must be shown is not who vouches for it.
    'tls.clients': hashOf(tls?.clients?.ca.text ?? null),
  }
}

function factsOf(stage: RuleStage, where: Where, scoping: Scoping): Facts {
  return new Map([...placeFacts(stage, where), ...scoping.facts()])
}

function isValidOf(kind: string) {
  return (policy: Attached): policy is ValidPolicy<Authorization> =>
    policy.state === 'valid' && policy.kind === kind
}

function isInvalid(policy: Attached): policy is InvalidPolicy {
  return policy.state === 'invalid'
}
