import { BOOL } from '../cel/check/types.ts'
import { compile, STAGES } from '../cel/index.ts'
import { clientsOf } from '../model/gateway.ts'
import type { Model } from '../model/model.ts'
import { type Oidc, signInPaths } from '../policies/oidc/schema.ts'
import { denials, learnEntry, takes } from './diff/admission.ts'
import { type Entry, type Ways, waysThrough } from './diff/entries.ts'
import { type ExampleRequest, exampleOf } from './diff/example.ts'
import { rivalsOf } from './diff/precedence.ts'
import { conditionsAt } from './points.ts'
import { partsNotCovered } from './symbolic/covered.ts'
import { any, negation } from './symbolic/formula.ts'
import { NOT_TRUE } from './symbolic/outcome.ts'
import { type Assignment, solve } from './symbolic/solve.ts'
import { type Condition, Space } from './symbolic/space.ts'
import { worldOf } from './symbolic/world.ts'

/** A place; a missing field matches any value. */
export interface GuardedPlace {
  readonly gateway?: string
  readonly listener?: string
  readonly route?: string
  readonly backend?: string
}

/** One way through the gateway. */
export interface Way {
  /** `gateway/listener` */
  readonly listener: string
  /** Empty for a connection that is not HTTP. */
  readonly route: string
  readonly backend: string | undefined
  readonly provider: string | undefined
}

/** Whether the rules and authentications of a way reject any request. */
export type Guard =
  /** Proven: every request that the route matches is admitted. */
  | { readonly kind: 'nothing' }
  /** Proven: no request takes this way, because others take precedence. */
  | { readonly kind: 'not-taken' }
  /** This request is rejected. */
  | { readonly kind: 'something'; readonly example: ExampleRequest }
  | { readonly kind: 'unknown'; readonly part: string }

/**
 * For each way at the place, whether anything guards it against anyone, or against requests without
 * any credentials. Rejecting only bad or other credentials does not keep out anonymous clients.
 * `OPTIONS *`, which is about the server itself, is ignored: a rule that every path satisfies
 * guards nothing.
 */
export function guardsAt(
  model: Model,
  place: GuardedPlace = {},
  who: 'anyone' | 'anonymous' = 'anyone',
): readonly { readonly way: Way; readonly guard: Guard }[] {
  const ways = waysThrough(model)
  return ways.entries
    .filter((entry) => isAt(entry, place))
    .map((entry) => ({ way: wayOf(entry), guard: guardOf(entry, ways, who) }))
}

function guardOf(entry: Entry, ways: Ways, who: 'anyone' | 'anonymous'): Guard {
  const { space, taken } = spaceOf(entry, ways)
  const identities = who === 'anyone' ? [] : identitiesOf(entry)
  for (const name of identities) space.learnVariable(name)
  const without = identities.map((name) => negation(space.isSet(name)))
  const denied = any(denials(space, entry))
  const known = solve([...taken, ...without, denied, ...space.axioms])
  const [other] = beyondRules(entry, who)
  if (known.kind === 'impossible') {
    const isTaken = solve([...taken, ...without, ...space.axioms]).kind !== 'impossible'
    if (!isTaken) return { kind: 'not-taken' }
    return other === undefined ? { kind: 'nothing' } : { kind: 'unknown', part: other }
  }
  if (known.kind === 'possible' && space.isExact) {
    return { kind: 'something', example: exampleFor(known.assignment, entry) }
  }
  return { kind: 'unknown', part: reasonOf(entry, known.kind === 'untold') }
}

/** All names under which rules on the way know the identity of clients. */
function identitiesOf({ points }: Entry): readonly string[] {
  const names = points.flatMap((point) => [
    ...point.names.values(),
    ...conditionsAt(point).flatMap(({ condition }) => [...(condition.names?.values() ?? [])]),
    ...point.required,
  ])
  // The other names are for the place of a request and for its source.
  return [...new Set(names)].filter((name) => name.includes('#'))
}

/** What may reject requests and is not a rule. */
function beyondRules({ points }: Entry, who: 'anyone' | 'anonymous'): readonly string[] {
  const passes = who === 'anyone' ? ['Permissive'] : ['Permissive', 'Optional']
  const authentications = points.flatMap((point) => point.authentications)
  const found = authentications
    .filter(({ value }) => !passes.includes((value as { readonly mode?: string }).mode ?? ''))
    .map(({ kind }) => `the credentials that \`${kind}\` accepts`)
  const { listener } = points[0]?.where ?? {}
  if (listener !== undefined && clientsOf(listener) !== undefined) {
    found.push('the client certificates that are accepted')
  }
  return found
}

function isAt({ where, backend }: Entry, place: GuardedPlace): boolean {
  const is = (wanted: string | undefined, name: string | undefined) =>
    wanted === undefined || wanted === name
  return (
    is(place.gateway, where.gateway.name) &&
    is(place.listener, where.listener.name) &&
    is(place.route, where.route?.name) &&
    is(place.backend, backend)
  )
}

function wayOf({ listener, route, backend, provider }: Entry): Way {
  return { listener, route, backend, provider }
}

function exampleFor(assignment: Assignment, entry: Entry): ExampleRequest {
  const facts = new Map(entry.points.flatMap((point) => [...point.facts]))
  return exampleOf(worldOf(assignment), entry, facts)
}

/** The formulas for everything on the way, and for what the route matches except `OPTIONS *`. */
function spaceOf(entry: Entry, ways: Ways) {
  const facts = new Map(entry.points.flatMap((point) => [...point.facts]))
  for (const name of entry.points.flatMap(({ required }) => required)) {
    // The way must check whether there are credentials; they must not be assumed.
    if (facts.get(name)?.kind === 'set') facts.delete(name)
  }
  const space = new Space(STAGES.backend, facts, 'proof')
  const rivals = rivalsOf(entry, ways)
  const isServer = entry.match !== undefined ? [SERVER, ...signInPages(entry)] : []
  learnEntry(space, entry)
  for (const one of [...rivals.map((rival) => rival.condition), ...isServer]) space.learn(one)
  const missed = [...rivals.map((rival) => rival.condition), ...isServer]
  const taken = [takes(space, entry), ...missed.map((one) => space.formula(one, NOT_TRUE))]
  return { space, taken }
}

/** Requests that `oidc` responds to itself, without evaluating any rule. */
function signInPages({ points }: Entry): readonly Condition[] {
  return points
    .flatMap(({ authentications }) => authentications)
    .filter(({ kind }) => kind === 'oidc')
    .flatMap(({ value }) => Object.values(signInPaths(value as Oidc)))
    .map((path) => conditionOf(`request.path == ${JSON.stringify(path)}`))
}

const SERVER: Condition = conditionOf("request.path == '*'")

function conditionOf(text: string): Condition {
  const { expression } = compile(text, STAGES.traffic, { expect: BOOL, pure: true })
  if (expression === undefined) throw new Error(`no expression: ${text}`)
  return { text, term: expression.term }
}

/** The first condition on the way that cannot be analyzed. */
function reasonOf({ match, points }: Entry, isTooMuch: boolean): string {
  if (isTooMuch) return 'there are too many rules to analyze together'
  const placed = points
    .flatMap(conditionsAt)
    .filter((one) => !('isEnforced' in one) || one.isEnforced === true)
  const conditions = [
    ...placed.map(({ condition }) => condition),
    ...(match === undefined ? [] : [match.condition]),
  ]
  for (const { term, text, parts = [] } of conditions) {
    const [part] = [...partsNotCovered(term, text), ...parts.map(({ id }) => id)]
    if (part !== undefined) return `\`${part}\` cannot be analyzed`
  }
  return 'a different part of the configuration decides every example that was found'
}
