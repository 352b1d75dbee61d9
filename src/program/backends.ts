import type { JsonObject } from '../cel/values/value.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import type { Backend } from '../model/backend.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { BackendRef } from '../model/route.ts'
import type { MirrorTarget } from '../policies/delivery.ts'
import type { Http } from '../policies/http/schema.ts'
import { attemptTime } from '../policies/timeout/compile.ts'
import { type Effective, effectiveAt, NO_POLICIES } from '../reach/effective.ts'
import type { Layer } from '../reach/layers.ts'
import { holdsForRequests } from '../reach/points.ts'
import type { RefPlace, RulePlace } from '../reach/where.ts'
import { withA2a } from './a2a.ts'
import { clusterPolicies } from './backend-policies.ts'
import { backendOf, isCallable, unhealthyExpressionOf } from './clusters.ts'
import type { Choosing, Compilation } from './compilation.ts'
import { compileMcp } from './mcp.ts'
import { type BackendProgram, isReply, type Mirror, type RouteProgram } from './program.ts'
import { compileProviders } from './providers.ts'
import { NO_SCOPES } from './scopes.ts'

const NO_BACKEND = reply(500, 'no-backend')
const INVALID_BACKEND = reply(500, 'invalid-backend')

interface Share {
  readonly weight: number
  readonly chosen: BackendProgram | Reply
  readonly attributes: JsonObject
}

/**
 * Chooses by weight and at random: processes that share a port have no shared state, so round robin
 * would only appear exact. An invalid backend keeps its share and responds with 500.
 */
export function compileChoice(
  compilation: Compilation,
  where: RulePlace,
  layers: readonly Layer[],
): Choosing {
  const plain = plainChoice(compilation, where, layers)
  if (plain === undefined) return choiceOf(compilation, where, layers)
  return compilation.contexts.once(compilation.plainChoices, plain, () =>
    choiceOf(compilation, where, []),
  )
}

/** A single backend without any policies around the route, which thousands of routes can share. */
function plainChoice(
  { contexts }: Compilation,
  { rule }: RulePlace,
  layers: readonly Layer[],
): string | undefined {
  const refs: readonly BackendRef[] = rule.action.kind === 'forward' ? rule.action.backends : []
  const [only] = refs
  if (only === undefined || refs.length > 1) return undefined
  if (only.weight <= 0 || only.policies.length > 0) return undefined
  const isTouched =
    effectiveAt(layers, 'backend') !== NO_POLICIES ||
    contexts.scopesAt(layers, 'backend') !== NO_SCOPES
  return isTouched ? undefined : only.backend
}

function choiceOf(compilation: Compilation, where: RulePlace, layers: readonly Layer[]): Choosing {
  const shares: Share[] = []
  for (const place of compilation.reach.refsOf(where)) {
    const { ref, backend } = place
    if (ref.weight <= 0) continue
    const chosen = compileBackend(compilation, place, layers)
    shares.push({ weight: ref.weight, chosen, attributes: attributesOf(backend, ref.backend) })
  }
  const programs = shares.flatMap(({ chosen }) => (isReply(chosen) ? [] : [chosen]))
  return {
    choose: chooseAmong(shares, compilation.services.random),
    readsBody: programs.some(({ readsBody }) => readsBody),
    readsBeginning: programs.some(({ readsBeginning }) => readsBeginning === true),
    decodesBody: programs.some(({ decodesBody }) => decodesBody === true),
    // If the backends differ in kind, clients cannot rely on the error format of one kind.
    errorFormat: programs.every(({ upstream }) => upstream.kind === programs[0]?.upstream.kind)
      ? programs[0]?.errorFormat
      : undefined,
  }
}

function chooseAmong(shares: readonly Share[], random: () => number): RouteProgram['choose'] {
  const [first] = shares
  if (first === undefined) return () => NO_BACKEND
  const take = (exchange: Exchange, { chosen, attributes }: Share) => {
    exchange.backend = attributes
    return chosen
  }
  if (shares.length === 1) return (exchange) => take(exchange, first)
  const total = shares.reduce((sum, { weight }) => sum + weight, 0)
  return (exchange) => {
    let left = random() * total
    for (const share of shares) {
      left -= share.weight
      if (left < 0) return take(exchange, share)
    }
    return take(exchange, first)
  }
}

function compileBackend(
  compilation: Compilation,
  place: RefPlace,
  layers: readonly Layer[],
): BackendProgram | Reply {
  const { backend } = place
  if (backend === undefined || backend.kind === 'invalid') return INVALID_BACKEND
  const { contexts, backendPrograms } = compilation
  const around = compilation.reach.behind(layers, place)
  const reached = effectiveAt(around, 'backend')
  const policies = [...reached.byKind.values()].flat()
  const { sources } = contexts.scopesAt(around, 'backend')
  const key = contexts.identity([backend, ...policies, ...reached.invalid, ...sources])
  return contexts.once(backendPrograms, key, () => {
    switch (backend.kind) {
      case 'ai':
        return compileProviders(compilation, backend, around) ?? INVALID_BACKEND
      case 'mcp':
        return compileMcp(compilation, backend, around) ?? INVALID_BACKEND
      default:
        return compilePlain(compilation, backend, around, reached)
    }
  })
}

function compilePlain(
  compilation: Compilation,
  backend: Backend,
  around: readonly Layer[],
  reached: Effective,
): BackendProgram | Reply {
  const { sections, clusters } = compilation
  const policies = [...reached.byKind.values()].flat()
  // Guards for calls to models would have no effect here.
  if (policies.some(isUnenforcedGuard)) return INVALID_BACKEND
  const cluster = clusters.open(backend, clusterPolicies(policies))
  if (cluster === undefined) return INVALID_BACKEND
  const section = sections.compile(around, 'backend', (one) => holdsForRequests(one, backend))
  const { steps, run, kinds, readsBody, readsBeginning, decodesBody, decider } = section
  const http = reached.byKind.get('http')?.[0].value as Http | undefined
  const requestTimeout = attemptTime(http?.requestTimeout)
  const responseIdle = attemptTime(http?.responseIdleTimeout)
  const program: BackendProgram = {
    name: backend.name,
    upstream: { kind: 'cluster', cluster },
    steps,
    run,
    kinds,
    readsBody,
    readsBeginning,
    decodesBody,
    requestTimeout,
    responseIdle,
    judgesResponses: unhealthyExpressionOf(policies) !== undefined,
    decider,
    responseParts: section.responseParts,
    requestBodies: section.requestBodies,
  }
  const agent = reached.byKind.get('a2a')?.[0]
  if (agent === undefined) return program
  return withA2a(compilation, program, agent) ?? INVALID_BACKEND
}

function isUnenforcedGuard({ kind, level }: ValidPolicy): boolean {
  return kind === 'guardrails' && level !== 'gateway' && level !== 'listener'
}

/** `backend` in expressions. */
function attributesOf(backend: Backend | undefined, name: string): JsonObject {
  switch (backend?.kind) {
    case 'ai':
      return { name, type: 'ai', protocol: 'llm' }
    case 'mcp':
      return { name, type: 'mcp', protocol: 'mcp' }
    case 'service':
    case 'dynamic':
      return { name, type: backend.kind, protocol: 'http' }
    default:
      return { name, type: 'static', protocol: 'http' }
  }
}

/** If a mirror is unreachable, the copy is lost, but the request is not affected. */
export function compileMirrors(
  compilation: Compilation,
  mirrors: readonly MirrorTarget[],
  layers: readonly Layer[],
  origin: Backend['origin'],
): readonly Mirror[] {
  return mirrors.flatMap(({ target, fraction }): Mirror[] => {
    const isNamed = target.kind === 'backend'
    const backend = isNamed
      ? compilation.reach.backends.get(target.backend)
      : backendOf(target, origin)
    if (!isCallable(backend)) return []
    const around = isNamed ? compilation.reach.behind(layers, { backend }) : []
    const reached = effectiveAt(around, 'backend')
    const policies = clusterPolicies([...reached.byKind.values()].flat())
    const cluster = compilation.clusters.open(backend, policies)
    return cluster === undefined ? [] : [{ cluster, fraction }]
  })
}
