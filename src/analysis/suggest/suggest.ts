import { BOOL } from '../../cel/check/types.ts'
import { compile, STAGES } from '../../cel/index.ts'
import type { Model } from '../../model/model.ts'
import type { Attached, ValidPolicy } from '../../model/policy.ts'
import type { Route } from '../../model/route.ts'
import type { Authorization } from '../../policies/schema.ts'
import type { RecordedDecision } from '../decisions/recorded.ts'
import { type Replay, type Router, replay, type Side } from '../decisions/replay.ts'
import { type RecordedRequest, requestsIn } from '../decisions/requests.ts'
import type { SemanticDiff } from '../diff/difference.ts'
import type { ExampleRequest } from '../diff/example.ts'
import { commonConditions } from './common-conditions.ts'
import { isOf, patternsOf } from './path-patterns.ts'
import { type RuleParts, writeRule } from './write-rule.ts'

/** Allow rules for one route that admit the requests seen there. */
export interface Suggestion {
  readonly route: string
  /** Number of recorded requests that were admitted. The rules admit all of them. */
  readonly admitted: number
  /** Number of recorded requests that were denied. The rules admit none of them. */
  readonly denied: number
  /** Number of denied requests for which this is unknown. */
  readonly notKnown: number
  readonly rules: readonly SuggestedRule[]
  /** Allow rules of the route that they replace. */
  readonly replaces: readonly string[]
  /** Whether the rules deny anything that is admitted now; `unknown` if it was not determined. */
  readonly tightens: 'yes' | 'no' | 'unknown'
}

export interface SuggestedRule {
  readonly expression: string
  /** Number of recorded requests that it admits, and one of them. */
  readonly admits: number
  readonly example: ExampleRequest
  /** Number of recorded requests of the route that it would deny by itself. */
  readonly denies: number
  /**
   * Example requests that are admitted now and that it would deny, as decided by both
   * configurations.
   */
  readonly wouldDeny: readonly ExampleRequest[]
}

export interface Suggestions {
  readonly suggestions: readonly Suggestion[]
  /** Routes with recorded requests but no suggestion, and why. */
  readonly without: readonly { readonly route: string; readonly why: string }[]
}

/** How the programs of two configurations decide. The caller provides this. */
export interface SuggestDeps {
  readonly openRouter: (model: Model) => { readonly route: Router; close(): void }
  readonly compare: (before: Model, after: Model) => SemanticDiff
}

/** Max number of rules for which denied requests are made up. */
const MAX_EXAMPLES = 40

/**
 * Derives from recorded requests the fewest Allow rules for each route that admit what was
 * admitted. Every set is replayed on the same records before it is shown. A set that denies an
 * admitted request, or admits a denied one, is discarded.
 */
export function suggest(
  records: readonly RecordedDecision[],
  model: Model,
  deps: SuggestDeps,
): Suggestions {
  const requests = [...requestsIn(records)].filter(
    ({ request, isCrossSite, route }) => !request.isConnection && !isCrossSite && route !== '',
  )
  const was = deps.openRouter(model)
  const recordsOf = Map.groupBy(records, ({ id }) => id)
  const suggestions: Suggestion[] = []
  const without: { route: string; why: string }[] = []
  let examples = 0
  for (const [name, seen] of Map.groupBy(requests, ({ route }) => route)) {
    const route = model.routes.find((one) => one.name === name)
    const admitted = seen.filter(({ isAdmitted }) => isAdmitted)
    const why = unsuitable(route, admitted)
    if (route === undefined || why !== undefined) {
      without.push({ route: name, why: why ?? 'the configuration does not contain this route' })
      continue
    }
    const own = (some: readonly RecordedRequest[]) =>
      some.flatMap(({ id }) => recordsOf.get(id) ?? [])
    const denied = seen.filter(({ isAdmitted }) => !isAdmitted)
    const tried = (rules: readonly Drafted[], some: readonly RecordedRequest[]) =>
      replayed(own(some), { model, route: was.route }, withRules(model, route, rules), deps)
    const found = draftsOf(admitted)
      .map((rules) => ({ rules, outcome: outcomeOf(rules, admitted, denied, tried) }))
      .find(({ outcome }) => outcome !== undefined)
    if (found?.outcome === undefined) {
      without.push({ route: name, why: 'no set of rules reproduces the recorded decisions' })
      continue
    }
    const before = allowRulesOf(route)
    const whole = deps.compare(model, withRules(model, route, found.rules))
    suggestions.push({
      route: name,
      admitted: admitted.length,
      denied: denied.length,
      notKnown: found.outcome.notKnown,
      replaces: before,
      tightens: tightens(whole, name),
      rules: found.rules.map((rule) => {
        const alone = tried([rule], admitted)
        return {
          expression: rule.expression,
          admits: alone.unchanged,
          example: (rule.requests[0] as RecordedRequest).request,
          denies: alone.changed.length + denied.length,
          wouldDeny:
            ++examples > MAX_EXAMPLES
              ? []
              : deniedAt(deps.compare(model, withRules(model, route, [rule])), name),
        }
      }),
    })
  }
  was.close()
  return { suggestions: suggestions.toSorted((a, b) => (a.route < b.route ? -1 : 1)), without }
}

function unsuitable(
  route: Route | undefined,
  admitted: readonly RecordedRequest[],
): string | undefined {
  if (route === undefined) return 'the configuration does not contain this route'
  if (admitted.length === 0) {
    return 'no admitted requests are recorded: set `config.decisions.allowed`'
  }
  if (route.policies.some(({ state }) => state !== 'valid')) return 'one of its policies is invalid'
  return undefined
}

interface Drafted {
  readonly expression: string
  readonly requests: readonly RecordedRequest[]
}

/** Sets to try, the strictest first. */
function draftsOf(admitted: readonly RecordedRequest[]): readonly (readonly Drafted[])[] {
  const byPlace = groupsOf(admitted)
  const one = [{ methods: [], patterns: undefined, requests: admitted }]
  return [
    drafted(byPlace, true),
    drafted(byPlace, false),
    // If paths do not distinguish admitted from denied requests, the client identity may.
    drafted(one, true),
  ].filter((rules) => rules.length > 0 && rules.every(({ expression }) => isRule(expression)))
}

function isRule(expression: string): boolean {
  if (expression === '') return false
  return compile(expression, STAGES.traffic, { expect: BOOL }).expression !== undefined
}

type Group = Omit<RuleParts, 'conditions'> & { readonly requests: readonly RecordedRequest[] }

function drafted(groups: readonly Group[], hasConditions: boolean): readonly Drafted[] {
  return groups.map(({ methods, patterns, requests }) => ({
    expression: writeRule({
      methods,
      patterns,
      conditions: hasConditions ? commonConditions(requests) : [],
    }),
    requests,
  }))
}

/**
 * Groups requests whose paths have the same methods, so that a rule admits no method that was not
 * seen on the path.
 */
function groupsOf(admitted: readonly RecordedRequest[]): readonly Group[] {
  if (admitted.some(({ path }) => path === undefined)) {
    const methods = [...new Set(admitted.map(({ request }) => request.method))].toSorted()
    return [{ methods, patterns: undefined, requests: admitted }]
  }
  const patterns = patternsOf(admitted.map(({ path }) => path ?? ''))
  const exact = new Map(patterns.map((pattern, index) => [pattern.join('/'), index]))
  const placed = Map.groupBy(
    admitted,
    ({ path = '' }) => exact.get(path) ?? patterns.findIndex((pattern) => isOf(pattern, path)),
  )
  const byMethods = Map.groupBy([...placed], ([, requests]) =>
    [...new Set(requests.map(({ request }) => request.method))].toSorted().join(' '),
  )
  return [...byMethods].map(([methods, own]) => ({
    methods: methods.split(' '),
    patterns: own.flatMap(([index]) => (patterns[index] === undefined ? [] : [patterns[index]])),
    requests: own.flatMap(([, requests]) => requests),
  }))
}

/** Undefined if the set does not reproduce the recorded decisions. */
function outcomeOf(
  rules: readonly Drafted[],
  admitted: readonly RecordedRequest[],
  denied: readonly RecordedRequest[],
  tried: (rules: readonly Drafted[], some: readonly RecordedRequest[]) => Replay,
): { readonly notKnown: number } | undefined {
  const kept = tried(rules, admitted)
  if (kept.unchanged !== admitted.length) return undefined
  const newlyDenied = tried(rules, denied)
  if (newlyDenied.changed.length > 0) return undefined
  return { notKnown: newlyDenied.requests - newlyDenied.unchanged }
}

function replayed(
  records: readonly RecordedDecision[],
  old: Side,
  now: Model,
  { openRouter }: SuggestDeps,
): Replay {
  const is = openRouter(now)
  try {
    return replay(records, { old, now: { model: now, route: is.route } })
  } finally {
    is.close()
  }
}

function isOwnAllow(policy: Attached): policy is ValidPolicy<Authorization> {
  return policy.state === 'valid' && policy.kind === 'authorization' && policy.section === 'traffic'
}

/** The Allow rules that the suggested ones replace. */
function allowRulesOf({ policies }: Route): readonly string[] {
  return policies
    .filter(isOwnAllow)
    .filter(({ value }) => value.mode === 'Enforce')
    .flatMap(({ value }) => value.rules.filter(({ action }) => action === 'Allow'))
    .map(({ expression }) => expression)
}

/** The Model with these Allow rules in place of the route's own. Deny and Require rules stay. */
function withRules(model: Model, route: Route, rules: readonly Drafted[]): Model {
  const kept = route.policies.flatMap((policy): readonly Attached[] => {
    if (!isOwnAllow(policy) || policy.value.mode !== 'Enforce') return [policy]
    const others = policy.value.rules.filter(({ action }) => action !== 'Allow')
    return others.length === 0 ? [] : [{ ...policy, value: { ...policy.value, rules: others } }]
  })
  const own = route.policies.find(isOwnAllow) ?? route.policies[0]
  const suggested: ValidPolicy<Authorization> = {
    kind: 'authorization',
    section: 'traffic',
    level: 'route',
    // As part of the route's own policy, the rules see the client identity that it authenticates.
    policy: own?.policy ?? `route:${route.name}`,
    origin: route.origin,
    state: 'valid',
    value: {
      mode: 'Enforce',
      rules: rules.map(({ expression }, index) => ({
        action: 'Allow',
        expression,
        field: `rules[${index}].allow`,
      })),
    },
  }
  const changed = { ...route, policies: [...kept, suggested] }
  return { ...model, routes: model.routes.map((one) => (one === route ? changed : one)) }
}

function deniedAt({ differences }: SemanticDiff, route: string): readonly ExampleRequest[] {
  return differences
    .filter((one) => one.kind === 'refused' && one.route === route)
    .slice(0, 2)
    .map(({ example }) => example)
}

function tightens({ differences, untold }: SemanticDiff, route: string): Suggestion['tightens'] {
  if (differences.some((one) => one.kind === 'refused' && one.route === route)) return 'yes'
  return untold.some((one) => one.kind === 'refused' && one.route === route) ? 'unknown' : 'no'
}
