import { STAGES } from '../../cel/index.ts'
import type { Entry } from '../diff/entries.ts'
import type { PlacedRule } from '../placed-rule.ts'
import type { Point } from '../points.ts'
import { NOT_TRUE, TRUE } from '../symbolic/outcome.ts'
import { identityFor, isAccepted, type KnownCredentials } from './credentials.ts'
import { KnownValues, stepsOf } from './known-values.ts'
import { type Evaluated, evaluateKnown } from './outcomes.ts'
import type { RecordedRequest } from './requests.ts'

/** What becomes of a request on one way; `unknown` names what it depends on. */
export type Judged =
  | { readonly kind: 'admitted' }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly on: readonly string[] }

const ADMITTED: Judged = { kind: 'admitted' }

/** All stages on the way; one that surely refuses decides, whatever is not known of the others. */
export function judgeWay(
  { points }: Pick<Entry, 'points'>,
  recorded: RecordedRequest,
  credentials: KnownCredentials,
): Judged {
  return together(points.map((point) => judgePoint(point, recorded, credentials)))
}

function together(all: readonly Judged[]): Judged {
  const refused = all.find(({ kind }) => kind === 'refused')
  if (refused !== undefined) return refused
  const on = all.flatMap((one) => (one.kind === 'unknown' ? one.on : []))
  return on.length === 0 ? ADMITTED : { kind: 'unknown', on }
}

function judgePoint(
  point: Point,
  recorded: RecordedRequest,
  credentials: KnownCredentials,
): Judged {
  const { stage, invalid, authentications } = point
  if (invalid.length > 0) return { kind: 'refused', reason: 'a policy is invalid' }
  const passed = authentications.map((policy): Judged => {
    const accepts = isAccepted(policy, credentials)
    if (accepts === true) return ADMITTED
    if (accepts === undefined) return { kind: 'unknown', on: [`what \`${policy.kind}\` finds`] }
    return { kind: 'refused', reason: '401: the credentials are not accepted' }
  })
  // The server name is set at the connection alone, and the address there is that of the peer.
  const evaluate = evaluation(point, recorded, credentials)
  const enforced = point.rules.filter(({ isEnforced }) => isEnforced)
  const of = (action: PlacedRule['rule']['action']) =>
    enforced.filter(({ rule }) => rule.action === action)
  return together([
    ...(stage === 'connection' ? [] : passed),
    ...of('Deny').map((rule) => denyOf(rule, evaluate(rule))),
    ...of('Require').map((rule) => requireOf(rule, evaluate(rule))),
    allowOf(of('Allow').map(evaluate)),
  ])
}

function denyOf(rule: PlacedRule, { outcomes, unknown }: Evaluated): Judged {
  if (outcomes === TRUE) return refusedBy(rule, 'matches')
  return outcomes & TRUE ? { kind: 'unknown', on: unknown } : ADMITTED
}

function requireOf(rule: PlacedRule, { outcomes, unknown }: Evaluated): Judged {
  if (outcomes === TRUE) return ADMITTED
  return outcomes & TRUE ? { kind: 'unknown', on: unknown } : refusedBy(rule, 'is not true')
}

function allowOf(all: readonly Evaluated[]): Judged {
  if (all.length === 0 || all.some(({ outcomes }) => outcomes === TRUE)) return ADMITTED
  if (all.every(({ outcomes }) => (outcomes & ~NOT_TRUE) === 0)) {
    return { kind: 'refused', reason: 'no Allow rule matches' }
  }
  return { kind: 'unknown', on: all.flatMap(({ unknown }) => unknown) }
}

function refusedBy({ rule, policy }: PlacedRule, cameTo: string): Judged {
  const text = `${rule.action} \`${rule.expression}\` of \`${policy.policy}\` ${cameTo}`
  return { kind: 'refused', reason: text }
}

/** Rules of one place that see who asks alike read the same. */
function evaluation(
  point: Point,
  recorded: RecordedRequest,
  credentials: KnownCredentials,
): (rule: PlacedRule) => Evaluated {
  const seen = new Map<string, KnownValues>()
  return ({ condition, stage }) => {
    const names = [...(condition.names?.values() ?? [])]
    const key = names.join(' ')
    const known = seen.get(key) ?? knownAt(point, names, recorded, credentials)
    seen.set(key, known)
    return evaluateKnown(condition.term, STAGES[stage], known)
  }
}

function knownAt(
  { stage, facts, authentications }: Point,
  names: readonly string[],
  recorded: RecordedRequest,
  credentials: KnownCredentials,
): KnownValues {
  const known = new KnownValues()
  for (const [name, fact] of facts) {
    const steps = name.includes('#') ? undefined : stepsOf(name)
    if (steps === undefined) continue
    if (fact.kind === 'unset') known.unset(steps)
    else if (fact.kind === 'set') known.present(steps)
    else if (fact.isSet && fact.values.length === 1) known.set(steps, fact.values[0] ?? null)
  }
  if (stage === 'connection') {
    recorded.setConnection(known)
    return known
  }
  recorded.setRequest(known)
  for (const name of names) {
    const [variable = ''] = name.split('#')
    const found = identityFor(name, authentications, credentials, recorded.claims)
    if (found === 'unset') known.unset([variable])
    else if (found !== undefined) known.graft(variable, found)
  }
  return known
}
