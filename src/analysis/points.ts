import { terminatedTls } from '../model/gateway.ts'
import { hashOf } from '../model/hash.ts'
import type { Model } from '../model/model.ts'
import type { InvalidPolicy, ValidPolicy } from '../model/policy.ts'
import { type FrontendHttp, frontendHttp } from '../policies/frontend-http/schema.ts'
import { entriesIn } from '../policies/schema.ts'
import type { Effective } from '../reach/effective.ts'
import { kindsThat } from '../reach/kinds.ts'
import {
  decidesAt,
  type Point as ReachedPoint,
  type RuleStage,
  pointsOf as reachedPoints,
} from '../reach/points.ts'
import type { Where } from '../reach/where.ts'
import { placeFacts } from './place-facts.ts'
import {
  type PlacedCondition,
  type PlacedRule,
  placedCondition,
  type RuleReader,
  ruleReader,
} from './placed-rule.ts'
import { type Scoping, scopesAt } from './scopes.ts'
import type { Fact, Facts } from './symbolic/attribute-tree.ts'

/** A place where rules decide: a listener, a rule of a route, or a backend behind it. */
export interface Point {
  readonly stage: RuleStage
  readonly where: Where
  /** The rules of all policies that reach it, ordered by level, including those in audit mode. */
  readonly rules: readonly PlacedRule[]
  /** Policies that could not be read. They reject every request here. */
  readonly invalid: readonly InvalidPolicy[]
  /** What is known about every request that arrives here. */
  readonly facts: Facts
  /**
   * Set if the rules only decide whether a message may be allowed, with these attributes unknown.
   * Of several such points of a way, one that may allow it is enough.
   */
  readonly unknown?: readonly (readonly string[])[]
  /** Authentications that a request passes before it arrives here. */
  readonly authentications: readonly ValidPolicy[]
  /** Names of the variables that they set for every request that passes. */
  readonly required: readonly string[]
  /** The names under which a policy inside all of them sees the client identity, by variable. */
  readonly names: ReadonlyMap<string, string>
  /** For a connection: hashes of the settings that determine who it comes from. */
  readonly believes: Readonly<Record<string, string>>
  /** For a connection: the settings that affect its requests before routes and rules see them. */
  readonly reading: Reading
  /** All policies that apply here, by kind. */
  readonly effective: Effective['byKind']
  /** The gateway's own responses to requests that the rules here admit. */
  readonly replies: Replies
  /** If the replies are `untold`, a hash that covers the errors; empty if there are none. */
  readonly unknownErrors: string
}

/**
 * The first reply whose condition is true applies, and no backend receives the request. `untold`:
 * the request alone does not determine the reply.
 */
export type Replies = 'untold' | readonly OwnReply[]

export interface OwnReply {
  /** Undefined if it applies to all remaining requests. */
  readonly when: PlacedCondition | undefined
  /** Whether its status is an error. */
  readonly isError: boolean
}

export type Reading = Pick<
  FrontendHttp,
  | 'mergeSlashes'
  | 'headersWithUnderscores'
  | 'maxBufferSize'
  | 'maxJsonSize'
  | 'maxHeadSize'
  | 'http1MaxHeaders'
  | 'http2MaxHeaderSize'
  | 'maxBodySize'
>

/** All places of the Model where rules can decide, in the order of the file. */
export function* pointsOf(model: Model, read: RuleReader = ruleReader()): Generator<Point> {
  for (const point of reachedPoints(model)) {
    const { server } = point.where
    // A server without rules of its own uses those of its backend.
    if (server?.policies.some((policy) => decidesAt(policy, point.stage)) === false) continue
    yield pointAt(point, read)
  }
}

export function pointAt(reached: ReachedPoint, read: RuleReader): Point {
  const { stage, where } = reached
  const scoping = scopesAt(reached)
  const peer = stage === 'connection' && hopsOf(reached.effective) > 0 ? PEER : []
  const rules = [...reached.rules()].flatMap(([policy, depth]) =>
    read(policy, stage, new Map([...scoping.namesFor(policy, depth), ...peer])),
  )
  const names = scoping.namesWithin()
  const replies = stage === 'traffic' ? repliesAt(reached, scoping) : []
  return {
    stage,
    where,
    rules,
    invalid: reached.invalid,
    facts: new Map([
      ...factsOf(stage, where, scoping),
      ...agentFacts(stage, reached.effective.byKind.has('a2a')),
      ...peer.map(([, name]) => [name, { kind: 'set' }] as const),
    ]),
    authentications: stage === 'connection' ? [] : scoping.authentications,
    required: stage === 'connection' ? [] : scoping.required,
    names,
    believes: stage === 'connection' ? beliefsOf(where, reached.effective) : {},
    reading: readingOf(reached.effective),
    effective: reached.effective.byKind,
    replies,
    unknownErrors: replies === 'untold' ? errorReplies(reached) : '',
  }
}

/**
 * If trusted proxies identify the client, a connection comes from the last of them: connection
 * rules read a different address than request rules do under the same name.
 */
const PEER: readonly (readonly [string, string])[] = [
  ['source.address', 'source.peerAddress'],
  ['source.port', 'source.peerPort'],
]

function hopsOf({ byKind }: Pick<Effective, 'byKind'>): number {
  const http = byKind.get('frontendHttp')?.[0].value as Partial<FrontendHttp> | undefined
  return http?.trustedHops ?? 0
}

/** The settings for trusted proxies, and the CAs of client certificates. */
function beliefsOf({ listener }: Where, { byKind }: Effective): Point['believes'] {
  const settled = (kind: string) => byKind.get(kind)?.[0].value
  return {
    proxyProtocol: hashOf(settled('proxyProtocol') ?? null),
    'http.trustedHops': hashOf(hopsOf({ byKind })),
    // Whether a certificate is required does not affect who vouches for it.
    'tls.clients': hashOf(terminatedTls(listener)?.clients?.ca.text ?? null),
  }
}

/** Responses that keep requests from backends, with their conditions but without their content. */
function errorReplies({ effective }: ReachedPoint): string {
  const replying = [...REPLYING].flatMap((kind) => effective.byKind.get(kind) ?? [])
  const all = replying.flatMap(({ value }) => entriesIn(value))
  const found = all.map(({ condition = '', value }) => {
    return [condition, (value as { readonly status: number }).status >= 400] as const
  })
  return found.some(([, isError]) => isError) ? hashOf(found) : ''
}

function repliesAt({ effective, layers }: ReachedPoint, scoping: Scoping): Replies {
  const found: OwnReply[] = []
  for (const policy of [...REPLYING].flatMap((kind) => effective.byKind.get(kind) ?? [])) {
    const depth = layers.findIndex(({ policies }) => policies.includes(policy))
    const names = scoping.namesFor(policy, depth)
    for (const { condition, value } of entriesIn(policy.value)) {
      const { status } = value as { readonly status: number }
      const when =
        condition === undefined ? undefined : placedCondition(condition, 'traffic', names)
      if (condition !== undefined && when === undefined) return 'untold'
      found.push({ when, isError: status >= 400 })
      if (when === undefined) return found
    }
  }
  return found
}

const REPLYING = kindsThat(({ repliesTo }) => repliesTo === 'requests')

const HTTP_DEFAULTS = frontendHttp.parse({})

function readingOf({ byKind }: Effective): Reading {
  const { mergeSlashes, headersWithUnderscores, maxBufferSize, maxJsonSize, ...limits } = {
    ...HTTP_DEFAULTS,
    ...(byKind.get('frontendHttp')?.[0].value as FrontendHttp | undefined),
  }
  const { maxHeadSize, http1MaxHeaders, maxBodySize, http2MaxHeaderSize = maxHeadSize } = limits
  return {
    ...{ mergeSlashes, headersWithUnderscores, maxBufferSize, maxJsonSize },
    ...{ maxHeadSize, http1MaxHeaders, http2MaxHeaderSize, maxBodySize },
  }
}

/** Without the policy, messages of agents are not read. */
function agentFacts(stage: RuleStage, isAgent: boolean): readonly (readonly [string, Fact])[] {
  if (stage !== 'backend' || isAgent) return []
  return [['a2a', { kind: 'unset' }]]
}

function factsOf(stage: RuleStage, where: Where, scoping: Scoping): Facts {
  return new Map([...placeFacts(stage, where), ...scoping.facts()])
}

/** All conditions that a point decides by: those of its rules and of the gateway's responses. */
export function conditionsAt({ rules, replies }: Point): readonly PlacedCondition[] {
  return replies === 'untold' ? rules : [...rules, ...replies.flatMap(({ when }) => when ?? [])]
}
