import type { JsonObject } from '../cel/values/value.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import type { Backend } from '../model/backend.ts'
import type { BackendRef } from '../model/route.ts'
import type { Http } from '../policies/http/schema.ts'
import type { MirrorTarget } from '../policies/request-mirror/compile.ts'
import { attemptTime } from '../policies/timeout/compile.ts'
import { clusterPolicies, isUnderstood } from './backend-policies.ts'
import { backendOf, isAskable, unhealthyExpressionOf } from './clusters.ts'
import type { Compilation } from './compilation.ts'
import { type Layer, NOTHING, reaching } from './layers.ts'
import { compileMcp } from './mcp.ts'
import type { BackendProgram, Mirror, RouteProgram } from './program.ts'
import { compileProviders } from './providers.ts'
import { NO_SCOPES } from './scopes.ts'

const NO_BACKEND = reply(500, 'no-backend')
const INVALID_BACKEND = reply(500, 'invalid-backend')

export interface Choosing {
  readonly choose: RouteProgram['choose']
  readonly readsBody: boolean
  readonly readsBeginning: boolean
  readonly decodesBody: boolean
}

interface Share {
  readonly weight: number
  readonly chosen: BackendProgram | Reply
  readonly attributes: JsonObject
}

/** The rule whose backends they are. */
interface RefPlace {
  readonly route: { readonly name: string }
  readonly index: number
}

/**
 * By weight and at random: processes that share a port know nothing of each other, so taking
 * turns would only look exact. What is invalid keeps its share, and answers 500 for it.
 */
export function compileChoice(
  compilation: Compilation,
  refs: readonly BackendRef[],
  layers: readonly Layer[],
  where: RefPlace,
): Choosing {
  const plain = plainChoice(compilation, refs, layers)
  if (plain === undefined) return choiceOf(compilation, refs, layers, where)
  const known = compilation.plainChoices.get(plain)
  if (known !== undefined) return known
  const made = choiceOf(compilation, refs, [], where)
  compilation.plainChoices.set(plain, made)
  return made
}

/** One backend that nothing around the route has a word about: thousands of routes share it. */
function plainChoice(
  { sites }: Compilation,
  refs: readonly BackendRef[],
  layers: readonly Layer[],
): string | undefined {
  const [only] = refs
  if (only === undefined || refs.length > 1) return undefined
  if (only.weight <= 0 || only.policies.length > 0) return undefined
  const isTouched =
    reaching(layers, 'backend') !== NOTHING || sites.scopesAt(layers, 'backend') !== NO_SCOPES
  return isTouched ? undefined : only.backend
}

function choiceOf(
  compilation: Compilation,
  refs: readonly BackendRef[],
  layers: readonly Layer[],
  { route, index }: RefPlace,
): Choosing {
  const shares = refs.flatMap((ref, place): Share[] => {
    if (ref.weight <= 0) return []
    const backend = compilation.backends.get(ref.backend)
    const own = compilation.layers.at(`ref ${route.name}/${index}/${place}`, ref.policies)
    const chosen = compileBackend(compilation, backend, layers, own)
    return [{ weight: ref.weight, chosen, attributes: attributesOf(backend, ref.backend) }]
  })
  const programs = shares.flatMap(({ chosen }) => ('cluster' in chosen ? [chosen] : []))
  return {
    choose: chooseAmong(shares, compilation.services.random),
    readsBody: programs.some(({ readsBody }) => readsBody),
    readsBeginning: programs.some(({ readsBeginning }) => readsBeginning === true),
    decodesBody: programs.some(({ decodesBody }) => decodesBody === true),
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
  backend: Backend | undefined,
  layers: readonly Layer[],
  ref: Layer,
): BackendProgram | Reply {
  if (backend === undefined || backend.kind === 'invalid') return INVALID_BACKEND
  const { sites, sections, clusters, backendPrograms } = compilation
  const own = compilation.layers.at(`backend ${backend.name}`, backend.policies)
  // A reference is the most specific: it is this backend on this route.
  const around = [...layers, own, ref]
  const reached = reaching(around, 'backend')
  const policies = [...reached.byKind.values()].flat()
  const { sources } = sites.scopesAt(around, 'backend')
  const key = sites.identity([backend, ...policies, ...reached.invalid, ...sources])
  const known = backendPrograms.get(key)
  if (known !== undefined) return known
  if (backend.kind === 'ai' || backend.kind === 'mcp') {
    const made =
      backend.kind === 'ai'
        ? compileProviders(compilation, backend, around)
        : compileMcp(compilation, backend, around)
    if (made === undefined) return INVALID_BACKEND
    backendPrograms.set(key, made)
    return made
  }
  const cluster = clusters.open(backend, clusterPolicies(policies))
  if (cluster === undefined) return INVALID_BACKEND
  const section = sections.compile(around, 'backend', isUnderstood)
  const { steps, run, readsBody, readsBeginning, decodesBody, decider } = section
  const http = reached.byKind.get('http')?.[0].value as Http | undefined
  const requestTimeout = attemptTime(http?.requestTimeout)
  const program: BackendProgram = {
    name: backend.name,
    cluster,
    steps,
    run,
    readsBody,
    readsBeginning,
    decodesBody,
    requestTimeout,
    judgesAnswers: unhealthyExpressionOf(policies) !== undefined,
    decider,
    responseParts: section.responseParts,
    requestBodies: section.requestBodies,
  }
  backendPrograms.set(key, program)
  return program
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

/** A mirror that cannot be reached costs the copy, never the request. */
export function compileMirrors(
  compilation: Compilation,
  mirrors: readonly MirrorTarget[],
  layers: readonly Layer[],
  origin: Backend['origin'],
): readonly Mirror[] {
  return mirrors.flatMap(({ target, fraction }): Mirror[] => {
    const isNamed = target.kind === 'backend'
    const backend = isNamed ? compilation.backends.get(target.backend) : backendOf(target, origin)
    if (!isAskable(backend)) return []
    const own = compilation.layers.at(`backend ${backend.name}`, backend.policies)
    const reached = reaching(isNamed ? [...layers, own] : [], 'backend')
    const policies = clusterPolicies([...reached.byKind.values()].flat())
    const cluster = compilation.clusters.open(backend, policies)
    return cluster === undefined ? [] : [{ cluster, fraction }]
  })
}
