import { STAGES } from '../../cel/index.ts'
import type { Entry } from '../diff/entries.ts'
import type { PlacedRule } from '../placed-rule.ts'
import type { Point } from '../points.ts'
import { NOT_TRUE, TRUE } from '../symbolic/outcome.ts'
import { identityFor, isAccepted, type KnownCredentials } from './credentials.ts'
import { KnownValues, stepsOf } from './known-values.ts'
import { type Evaluated, evaluateKnown } from './outcomes.ts'
import type { RecordedRequest } from './requests.ts'

/** The verdict for a request on one way; `unknown` lists what it depends on. */
export type Judged =
  | { readonly kind: 'admitted' }
  | { readonly kind: 'refused'; readonly reason: string; readonly isUnserved?: true }
  | {
      readonly kind: 'unknown'
      readonly on: readonly string[]
      /**
       * The gateway may respond with an error of its own to a request that the rules admit. No
       * record shows this.
       */
      readonly mayBeUnserved?: boolean
    }

const ADMITTED: Judged = { kind: 'admitted' }

const UNSERVED: Judged = { kind: 'refused', reason: 'the request is not served', isUnserved: true }

/** Judges all stages of the way. A certain rejection decides, even if other stages are unknown. */
export function judgeWay(
  { points, isServed }: Pick<Entry, 'points' | 'isServed'>,
  recorded: RecordedRequest,
  credentials: KnownCredentials,
): Judged {
  const judged = (which: (point: Point) => boolean) =>
    together(points.filter(which).map((point) => judgePoint(point, recorded, credentials)))
  const before = judged(({ stage }) => stage !== 'backend')
  if (before.kind === 'refused') return before
  const { possible, unknown } = repliesTo(points, recorded, credentials)
  const behind = isServed ? judged(({ stage }) => stage === 'backend') : UNSERVED
  const ends = possible.map((one) => (one === 'left' ? behind : one))
  const [first = behind, ...others] = ends
  if (others.every(({ kind }) => kind === first.kind)) return together([before, first])
  const mayBeUnserved = ends.some((one) => one.kind === 'refused' && one.isUnserved === true)
  return together([before, { kind: 'unknown', on: unknown, mayBeUnserved }])
}

/**
 * The responses the gateway itself may send to requests admitted by the earlier rules, or `left` if
 * they may go on to the backends.
 */
function repliesTo(
  points: Entry['points'],
  recorded: RecordedRequest,
  credentials: KnownCredentials,
): { readonly possible: readonly (Judged | 'left')[]; readonly unknown: readonly string[] } {
  const possible: (Judged | 'left')[] = []
  const open: string[] = []
  for (const point of points) {
    const { replies, stage } = point
    if (replies === 'untold') {
      return {
        possible: [ADMITTED, UNSERVED, 'left'],
        unknown: ['the response of `directResponse`'],
      }
    }
    const evaluate = evaluation(point, recorded, credentials)
    for (const { when, isError } of replies) {
      const { outcomes, unknown } =
        when === undefined
          ? { outcomes: TRUE, unknown: [] }
          : evaluate({ condition: when.condition, stage })
      if ((outcomes & TRUE) === 0) continue
      possible.push(isError ? UNSERVED : ADMITTED)
      open.push(...unknown)
      if (outcomes === TRUE) return { possible, unknown: open }
    }
  }
  return { possible: [...possible, 'left'], unknown: open }
}

export function mayBeUnserved(all: readonly Judged[]): boolean {
  return all.some((one) => one.kind === 'unknown' && one.mayBeUnserved === true)
}

function together(all: readonly Judged[]): Judged {
  const denied = all.find(({ kind }) => kind === 'refused')
  if (denied !== undefined) return denied
  const on = all.flatMap((one) => (one.kind === 'unknown' ? one.on : []))
  if (all.every(({ kind }) => kind === 'admitted')) return ADMITTED
  return { kind: 'unknown', on, mayBeUnserved: mayBeUnserved(all) }
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
    if (accepts === undefined) return { kind: 'unknown', on: [`the result of \`${policy.kind}\``] }
    return { kind: 'refused', reason: '401: the credentials are rejected' }
  })
  // Only the connection sets the server name, and its source address is that of the peer.
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
  if (outcomes === TRUE) return deniedBy(rule, 'matches')
  return outcomes & TRUE ? { kind: 'unknown', on: unknown } : ADMITTED
}

function requireOf(rule: PlacedRule, { outcomes, unknown }: Evaluated): Judged {
  if (outcomes === TRUE) return ADMITTED
  return outcomes & TRUE ? { kind: 'unknown', on: unknown } : deniedBy(rule, 'is not true')
}

function allowOf(all: readonly Evaluated[]): Judged {
  if (all.length === 0 || all.some(({ outcomes }) => outcomes === TRUE)) return ADMITTED
  if (all.every(({ outcomes }) => (outcomes & ~NOT_TRUE) === 0)) {
    return { kind: 'refused', reason: 'no Allow rule matches' }
  }
  return { kind: 'unknown', on: all.flatMap(({ unknown }) => unknown) }
}

function deniedBy({ rule, policy }: PlacedRule, cameTo: string): Judged {
  const text = `${rule.action} \`${rule.expression}\` of \`${policy.policy}\` ${cameTo}`
  return { kind: 'refused', reason: text }
}

/** Rules of one place that see the same identity share the known values. */
function evaluation(
  point: Point,
  recorded: RecordedRequest,
  credentials: KnownCredentials,
): (rule: Pick<PlacedRule, 'condition' | 'stage'>) => Evaluated {
  const seen = new Map<string, KnownValues>()
  return ({ condition, stage }) => {
    const names = [...(condition.names?.values() ?? [])]
    const key = names.join(' ')
    const known = seen.get(key) ?? knownAt(point, names, recorded, credentials)
    seen.set(key, known)
    return evaluateKnown(condition.term, STAGES[stage], known)
  }
}

const SERVER_NAME = ['destination', 'hostname']

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
    else if (fact.kind === 'number') {
      if (fact.isSet) known.present(steps)
    } else if (fact.isSet && fact.values.length === 1) known.set(steps, fact.values[0] ?? null)
  }
  if (stage === 'connection') {
    recorded.setConnection(known)
    // A recorded server name is that of the handshake, which rules for requests do not see.
    if (facts.get(SERVER_NAME.join('.'))?.kind === 'unset') known.unset(SERVER_NAME)
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
