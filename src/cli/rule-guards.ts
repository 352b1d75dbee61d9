import { type Guard, guardsAt } from '../analysis/guards.ts'
import type { Model } from '../model/model.ts'
import type { Attached } from '../model/policy.ts'
import type { Match } from '../model/route.ts'
import type { Authorization } from '../policies/authorization-rules.ts'
import type { GuardedWay, RuleGuard } from '../program/effective.ts'
import { clientCertificates, type HypotheticalRequest } from '../program/explain.ts'
import { RULE_KINDS } from '../reach/points.ts'
import { NO_NAMES, supposedOf } from './diff.ts'
import { openVerdicts, type Verdicts } from './verdicts.ts'

/**
 * Whether Allow and Require rules keep anything out. The program is asked about some plain requests
 * first, since one that it denies says it all; where it denies none, there is a proof or none.
 */
export function ruleGuards(model: Model): RuleGuard & Pick<Verdicts, 'close'> {
  // What Deny rules keep out is not what the others do.
  const asking = withoutDenies(model)
  const verdicts = openVerdicts(asking)
  let proven: ReadonlyMap<string, ReturnType<typeof guardsAt>> | undefined
  const guards: RuleGuard = (way) => {
    if (isDenyingSome(way, verdicts)) return 'something'
    proven ??= Map.groupBy(guardsAt(asking, {}, 'anonymous'), ({ way: one }) => keyOf(one))
    const { gateway, listener, route, backend, provider } = way
    const place = { listener: `${gateway.name}/${listener.name}`, route: route?.name ?? '' }
    const found = proven.get(keyOf({ ...place, backend, provider })) ?? []
    return together(found.map(({ guard }) => guardBy(guard, way, verdicts)))
  }
  return Object.assign(guards, { close: () => verdicts.close() })
}

interface Named {
  readonly listener: string
  readonly route: string
  readonly backend: string | undefined
  readonly provider: string | undefined
}

function keyOf({ listener, route, backend, provider }: Named): string {
  return JSON.stringify([listener, route, backend, provider])
}

/** An example may be of a request that nobody can send: the program has the last word. */
function guardBy(guard: Guard, { route }: GuardedWay, verdicts: Verdicts): Guard['kind'] {
  if (guard.kind !== 'something') return guard.kind
  const { example } = guard
  const {
    isAdmitted,
    isUnserved,
    route: taken,
  } = verdicts.decide(supposedOf(example), example.isConnection)
  const isRefused = !isAdmitted && isUnserved !== true
  return isRefused && taken === (route?.name ?? '') ? 'something' : 'unknown'
}

/** Of all matches and hostnames that lead there; one that no request takes says nothing. */
function together(all: readonly Guard['kind'][]): ReturnType<RuleGuard> {
  const taken = all.filter((kind) => kind !== 'not-taken')
  if (all.length === 0 || taken.includes('unknown')) return 'unknown'
  if (!taken.includes('something')) return 'nothing'
  return taken.includes('nothing') ? 'part' : 'something'
}

/** For each match and each hostname a request that it takes and that is denied. */
function isDenyingSome(way: GuardedWay, verdicts: Verdicts): boolean {
  const { rule, route, listener } = way
  if (rule === undefined || route === undefined) return false
  const names = route.hostnames.length === 0 ? [listener.hostname ?? '*'] : route.hostnames
  return names.every((name) =>
    rule.matches.every((match) =>
      plainRequests(way, name, match).some((request) => {
        const { isAdmitted, isUnserved, route: taken } = verdicts.decide(request)
        return !isAdmitted && isUnserved !== true && taken === route.name
      }),
    ),
  )
}

function plainRequests(
  way: GuardedWay,
  hostname: string,
  { path, method, headers }: Match,
): readonly HypotheticalRequest[] {
  const { gateway, listener, backend, provider } = way
  const [named = 'example.com'] = [hostname, listener.hostname ?? '*'].filter(
    (name) => name !== '*',
  )
  const below = path.value.endsWith('/') ? path.value : `${path.value}/`
  const paths = path.kind === 'prefix' ? [path.value, `${below}x`] : [path.value]
  const methods = method === undefined ? ['GET', 'POST'] : [method]
  return paths.flatMap((own) =>
    methods.map((verb) => ({
      method: verb,
      path: own,
      search: '',
      host: named.replace(/^\*\./, 'a.'),
      headers: headers.map(({ name, value }) => [name, value] as const),
      source: '203.0.113.7',
      sourcePort: 40_000,
      certificate: clientCertificates({ listener }) === 'Require' ? NO_NAMES : undefined,
      identity: {},
      listener: `${gateway.name}/${listener.name}`,
      backend,
      provider,
    })),
  )
}

function withoutDenies(model: Model): Model {
  return without(model) as Model
}

/** A Model is plain data: lists, objects and scalars. */
function without(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.flatMap((one): readonly unknown[] => (isRules(one) ? asking(one) : [without(one)]))
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, without(one)]))
}

function isRules(value: unknown): value is Attached & { readonly value: Authorization } {
  const { kind, state } = (value ?? {}) as Partial<Attached>
  return state === 'valid' && kind !== undefined && RULE_KINDS.has(kind)
}

function asking(policy: Attached & { readonly value: Authorization }): readonly Attached[] {
  const rules = policy.value.rules.filter(({ action }) => action !== 'Deny')
  return rules.length === 0 ? [] : [{ ...policy, value: { ...policy.value, rules } } as Attached]
}
