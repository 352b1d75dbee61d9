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

/** A place where rules decide: a listener, a rule of a route, a backend behind it. */
export interface Point {
  readonly stage: RuleStage
  readonly where: Where
  /** Of all policies that reach it, in the order of levels; those in audit mode too. */
  readonly rules: readonly PlacedRule[]
  /** Policies that could not be read: they reject everything here. */
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
  /** Of a connection: what becomes of its requests before routes and rules see them, by setting. */
  readonly reading: Reading
  /** All that holds here, by kind. */
  readonly effective: Effective['byKind']
  /** To which of the requests that the rules here admit the gateway itself responds. */
  readonly replies: Replies
  /** Of replies that are untold: those that are errors, in one word; empty: none is. */
  readonly untoldErrors: string
}

/**
 * The first applies whose condition is true, and no backend gets the request. `untold`: the
 * request alone does not tell which.
 */
export type Replies = 'untold' | readonly OwnReply[]

export interface OwnReply {
  /** Undefined: it applies to all that is left. */
  readonly when: PlacedCondition | undefined
  /** Its status is that of an error. */
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

/** Every place of the Model where rules can decide, in the order of the file. */
export function* pointsOf(model: Model, read: RuleReader = ruleReader()): Generator<Point> {
  for (const point of reachedPoints(model)) {
    const { server } = point.where
    // Of a server that adds nothing the same holds as of its backend.
    if (server?.policies.some((policy) => decidesAt(policy, point.stage)) === false) continue
    yield pointAt(point, read)
  }
}

function pointAt(reached: ReachedPoint, read: RuleReader): Point {
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
    untoldErrors: replies === 'untold' ? errorReplies(reached) : '',
  }
}

/**
 * Where proxies in front say who the client is, a connection comes from the last of them: what its
 * rules read is another address than what rules about requests read by the same name.
 */
const PEER: readonly (readonly [string, string])[] = [
  ['source.address', 'source.peerAddress'],
  ['source.port', 'source.peerPort'],
]

function hopsOf({ byKind }: Pick<Effective, 'byKind'>): number {
  const http = byKind.get('frontendHttp')?.[0].value as Partial<FrontendHttp> | undefined
  return http?.trustedHops ?? 0
}

/** Proxies in front, and authorities of client certificates. */
function beliefsOf({ listener }: Where, { byKind }: Effective): Point['believes'] {
  const settled = (kind: string) => byKind.get(kind)?.[0].value
  return {
    proxyProtocol: hashOf(settled('proxyProtocol') ?? null),
    'http.trustedHops': hashOf(hopsOf({ byKind })),
    // Whether one must be shown is not who vouches for it.
    'tls.clients': hashOf(terminatedTls(listener)?.clients?.ca.text ?? null),
  }
}

/** Responses that keep requests from backends, with their conditions; not what they say. */
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

/** Nothing reads messages of agents without the policy. */
function agentFacts(stage: RuleStage, isAgent: boolean): readonly (readonly [string, Fact])[] {
  if (stage !== 'backend' || isAgent) return []
  return [['a2a', { kind: 'unset' }]]
}

function factsOf(stage: RuleStage, where: Where, scoping: Scoping): Facts {
  return new Map([...placeFacts(stage, where), ...scoping.facts()])
}

/** All that a point decides by: its rules, and the conditions of the gateway's own responses. */
export function conditionsAt({ rules, replies }: Point): readonly PlacedCondition[] {
  return replies === 'untold' ? rules : [...rules, ...replies.flatMap(({ when }) => when ?? [])]
}
