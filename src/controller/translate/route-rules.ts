import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Attached } from '../../model/policy.ts'
import type { BackendRef, Match, Route, RouteRule } from '../../model/route.ts'
import { GATEWAY_API } from '../resources/metadata.ts'
import type { Filter, RouteBackendRef } from '../resources/routes.ts'
import { type Rejection, reject, type Verdict } from './conditions.ts'
import { type FilterContext, readFilters } from './filters.ts'
import type { Resolve } from './references.ts'
import { complaint, originOf, type Read } from './view.ts'

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
  readonly problem: Rejection | undefined
}

export interface ReadRoute {
  readonly route: Omit<Route, 'parents'>
  /** Verdicts on references. */
  readonly resolved: readonly Verdict[]
  /** Errors in rules: a rule that cannot be served responds with 500. */
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
    let problem = rule.problem ?? own.problem
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
      problem ??= inner.problem
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
    if (problem === undefined) return { ...common, action: { kind: 'forward', backends: refs } }
    problems.push(reject(problem.reason, `${field}: ${problem.message}`))
    const said = complaint(read, field, 'PC0704', problem.message)
    diagnostics.push(said)
    return { ...common, action: { kind: 'invalid', diagnostics: [said] } }
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

/** An HTTPRoute and a GRPCRoute may have the same name. */
export function modelName({ kind, key }: Pick<Read, 'kind' | 'key'>): string {
  return `${kind}/${key}`
}
