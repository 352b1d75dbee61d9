import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Attached } from '../../model/policy.ts'
import type { BackendRef, Match, Route, RouteRule } from '../../model/route.ts'
import { GATEWAY_API } from '../resources/metadata.ts'
import type { Filter, RouteBackendRef } from '../resources/routes.ts'
import { allRejections, type Rejection, reject, type Verdict } from './conditions.ts'
import { type FilterContext, readFilters } from './filters.ts'
import type { Resolve } from './references.ts'
import { complaint, fieldOf, originOf, type PartProblem, type Read } from './view.ts'

/** The context for translating a request route for one Gateway. */
export interface RouteContext {
  readonly resolve: Resolve
  /** Policies for the route, or for the rule with this name. */
  readonly attached: (rule: string | undefined) => readonly Attached[]
}

/** A rule of any kind of route, after its specific fields are read. */
export interface RuleDraft {
  readonly name: string | undefined
  readonly matches: readonly Match[]
  readonly filters: readonly Filter[]
  readonly backendRefs: readonly RouteBackendRef[]
  /** Further policies that the rule sets, or why it cannot be served. */
  readonly more: readonly Attached[]
  readonly problems: readonly Rejection[]
}

export interface ReadRoute {
  readonly route: Omit<Route, 'parents'>
  /** Verdicts on references. */
  readonly resolved: readonly Verdict[]
  /** The errors of each rule that has any: a rule that cannot be served responds with 500. */
  readonly problems: readonly Rejection[]
  readonly ruleCount: number
  readonly diagnostics: readonly Diagnostic[]
}

const AT_BACKENDS: readonly string[] = ['RequestHeaderModifier', 'ResponseHeaderModifier']

/** Name and rules of a route, with their backends. */
export function readRules(
  { resolve, attached }: RouteContext,
  read: Read,
  hostnames: readonly string[],
  rules: readonly RuleDraft[],
  types: readonly string[],
): ReadRoute {
  const name = modelName(read)
  const resolved: Verdict[] = []
  const problems: Rejection[] = []
  const diagnostics: Diagnostic[] = []
  const from = { group: GATEWAY_API, kind: read.kind, namespace: read.namespace }
  const mirror: FilterContext['mirror'] = ({ backendRef }, field) =>
    resolve(from, backendRef, originOf(read, field))
  const whole = read.problems.filter(({ path }) => !isOfRule(path)).map((one) => one.diagnostic)
  const made = rules.map((rule, index): RouteRule => {
    const field = `spec.rules[${index}]`
    const ruleName = rule.name ?? String(index)
    const policy = `route:${name}/${ruleName}`
    const base = { read, policy, mirror }
    const own = readFilters(
      { ...base, section: 'traffic', level: 'route', types },
      rule.filters,
      `${field}.filters`,
    )
    resolved.push(...own.verdicts)
    diagnostics.push(...own.diagnostics)
    const wrong = [...ofRule(read.problems, index), ...rule.problems, ...own.problems]
    const refs = rule.backendRefs.map((ref, at): BackendRef => {
      const refField = `${field}.backendRefs[${at}]`
      const { backend, verdict } = resolve(from, ref, originOf(read, refField))
      resolved.push(verdict)
      const inner = readFilters(
        {
          ...base,
          policy: `routeBackend:${name}/${ruleName}/${at}`,
          section: 'backend',
          level: 'backend',
          types: AT_BACKENDS,
        },
        ref.filters,
        `${refField}.filters`,
      )
      diagnostics.push(...inner.diagnostics)
      wrong.push(...inner.problems)
      return { backend, weight: ref.weight, policies: inner.policies }
    })
    const common = {
      name: ruleName,
      origin: originOf(read, field),
      matches: rule.matches,
      policies: [
        ...own.policies,
        ...rule.more,
        ...(rule.name === undefined ? [] : attached(rule.name)),
      ],
    }
    const verdict = allRejections(wrong)
    if (verdict.ok && whole.length === 0) {
      return { ...common, action: { kind: 'forward', backends: refs } }
    }
    if (!verdict.ok) problems.push(reject(verdict.reason, `${field}: ${verdict.message}`))
    const messages = new Set(wrong.map(({ message }) => message))
    const said = [...messages].map((message) => complaint(read, field, 'PC0704', message))
    diagnostics.push(...said)
    return { ...common, action: { kind: 'invalid', diagnostics: [...whole, ...said] } }
  })
  const route = {
    name,
    origin: originOf(read, 'spec'),
    hostnames: hostnames.map((one) => one.toLowerCase()),
    rules: made,
    policies: attached(undefined),
  }
  return { route, resolved, problems, ruleCount: rules.length, diagnostics }
}

/** Whether a part of a route belongs to one of its rules, and not to the whole. */
export function isOfRule([, list, index, ...rest]: readonly PropertyKey[], one?: number): boolean {
  const isInside = list === 'rules' && typeof index === 'number' && rest.length > 0
  return isInside && (one === undefined || one === index)
}

/** What cannot be read of a rule, by its place within the rule. */
function ofRule(problems: readonly PartProblem[], index: number): readonly Rejection[] {
  const own = problems.filter(({ path }) => isOfRule(path, index))
  return own.map(({ path, diagnostic: { message } }) =>
    reject('UnsupportedValue', `${fieldOf(path.slice(3))}: ${message}`),
  )
}

/** An HTTPRoute and a GRPCRoute may have the same name. */
export function modelName({ kind, key }: Pick<Read, 'kind' | 'key'>): string {
  return `${kind}/${key}`
}
