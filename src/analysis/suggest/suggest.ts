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
 * admitted request is discarded, and so is one that is not proven to admit only requests that are
 * admitted now: records do not have everything that a rule may read.
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
    const before = allowRulesOf(route)
    const changedBy = (rules: readonly Drafted[]) => withRules(model, route, rules)
    const tried = (rules: readonly Drafted[], some: readonly RecordedRequest[]) =>
      replayed(own(some), { model, route: was.route }, changedBy(rules), deps)
    const drafts = draftsOf(admitted).filter(
      (rules) => tried(rules, admitted).unchanged === admitted.length,
    )
    const narrower = before.length === 0 ? [] : drafts.map((rules) => within(before, rules))
    const candidates = [...drafts, ...narrower]
      .filter((rules) => rules.every(({ expression }) => isRule(expression)))
      .filter((rules) => tried(rules, denied).changed.length === 0)
    const found = firstProven(candidates, (rules) => deps.compare(model, changedBy(rules)))
    if (found === undefined) {
      without.push({ route: name, why: candidates.length === 0 ? NONE_REPRODUCES : NONE_PROVEN })
      continue
    }
    suggestions.push({
      route: name,
      admitted: admitted.length,
      denied: denied.length,
      replaces: before,
      tightens: tightens(found.whole, name),
      rules: found.rules.map((rule) => {
        const alone = tried([{ ...rule, expression: rule.basis }], admitted)
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
  /** The expression without the rules that it replaces. */
  readonly basis: string
  readonly requests: readonly RecordedRequest[]
}

const NONE_REPRODUCES = 'no set of rules reproduces the recorded decisions'
const NONE_PROVEN =
  'no set of rules is proven to admit only requests that are admitted now; Allow rules on the gateway or listener are not replaced'

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

/**
 * The set with the replaced rules as a condition. It admits the same recorded requests: each was
 * admitted by one of the replaced rules, or by one that is not replaced.
 */
function within(replaced: readonly string[], rules: readonly Drafted[]): readonly Drafted[] {
  const [only] = replaced
  const either = replaced.length === 1 ? only : replaced.map((one) => `(${one})`).join(' || ')
  return rules.map((rule) => ({ ...rule, expression: `(${either}) && ${rule.expression}` }))
}

/** The first set that is proven to admit only requests that are admitted now. */
function firstProven(
  candidates: readonly (readonly Drafted[])[],
  compare: (rules: readonly Drafted[]) => SemanticDiff,
): { readonly rules: readonly Drafted[]; readonly whole: SemanticDiff } | undefined {
  for (const rules of candidates) {
    const whole = compare(rules)
    const isNewlyAdmitted = [...whole.differences, ...whole.untold].some(
      ({ kind }) => kind === 'admitted',
    )
    if (!isNewlyAdmitted) return { rules, whole }
  }
  return undefined
}

function isRule(expression: string): boolean {
  if (expression === '') return false
  return compile(expression, STAGES.traffic, { expect: BOOL }).expression !== undefined
}

type Group = Omit<RuleParts, 'conditions'> & { readonly requests: readonly RecordedRequest[] }

function drafted(groups: readonly Group[], hasConditions: boolean): readonly Drafted[] {
  return groups.map(({ methods, patterns, requests }) => {
    const conditions = hasConditions ? commonConditions(requests) : []
    const expression = writeRule({ methods, patterns, conditions })
    return { expression, basis: expression, requests }
  })
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
