import { BOOL } from '../cel/check/types.ts'
import { compile, type Expression, STAGES } from '../cel/index.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Model } from '../model/model.ts'
import { admits, learnEntry, refusals, takes } from './diff/admission.ts'
import type { Decide } from './diff/compare.ts'
import { type Entry, type Ways, waysThrough } from './diff/entries.ts'
import { attributesOf, type ExampleRequest, exampleOf } from './diff/example.ts'
import { rivalsOf } from './diff/precedence.ts'
import { partsNotCovered } from './symbolic/covered.ts'
import { any, type Formula, literal, negation } from './symbolic/formula.ts'
import { NOT_TRUE } from './symbolic/outcome.ts'
import { type Assignment, solve } from './symbolic/solve.ts'
import { type Condition, type Mode, Space } from './symbolic/space.ts'
import { worldOf } from './symbolic/world.ts'

/** Where; what is left out may be any. */
export interface ProofPlace {
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

export interface Counterexample {
  readonly way: Way
  readonly example: ExampleRequest
}

/** What keeps it from being known, and where. */
export interface UnknownPart {
  readonly way: Way
  readonly part: string
}

export type Proof =
  /** No request can be admitted there without the condition being true. */
  | { readonly kind: 'proven'; readonly ways: readonly Way[] }
  /** These are admitted, and the condition is not true of them. */
  | { readonly kind: 'refuted'; readonly counterexamples: readonly Counterexample[] }
  | { readonly kind: 'unknown'; readonly parts: readonly UnknownPart[] }
  /** The condition is no expression for this place. */
  | { readonly kind: 'invalid'; readonly diagnostics: readonly Diagnostic[] }
  /** The Model has no such place, so that nothing can be admitted there. */
  | { readonly kind: 'nowhere' }

/**
 * Can a request be admitted there although the condition is not true of it? `jwt` and its like
 * are what a policy at the innermost level of the place would see. Without `decide`, which asks
 * the program that would serve it, an example is shown only where every condition on its way is
 * of a covered form.
 */
export function prove(model: Model, place: ProofPlace, condition: string, decide?: Decide): Proof {
  const ways = waysThrough(model)
  const entries = ways.entries.filter((entry) => isAt(entry, place))
  if (entries.length === 0) return { kind: 'nowhere' }
  const counterexamples: Counterexample[] = []
  const parts: UnknownPart[] = []
  for (const entry of entries) {
    const { expression, diagnostics } = compile(condition, STAGES[stageOf(entry)], { expect: BOOL })
    if (expression === undefined) return { kind: 'invalid', diagnostics }
    const way = wayOf(entry)
    const found = proveWay(entry, ways, { text: condition, expression }, decide)
    if (found === 'proven') continue
    if (typeof found === 'string') parts.push({ way, part: found })
    else counterexamples.push({ way, example: found.example })
  }
  if (counterexamples.length > 0) return { kind: 'refuted', counterexamples }
  return parts.length > 0
    ? { kind: 'unknown', parts }
    : { kind: 'proven', ways: entries.map(wayOf) }
}

/** Whether the rules and authentications of a way keep anyone out. */
export type Guard =
  /** Every request that the route takes is admitted: proven. */
  | { readonly kind: 'nothing' }
  /** No request takes this way, since others come before it: proven. */
  | { readonly kind: 'not-taken' }
  /** This one is kept out. */
  | { readonly kind: 'something'; readonly example: ExampleRequest }
  | { readonly kind: 'unknown'; readonly part: string }

/**
 * For each way at the place, whether anything guards it against anyone, or against requests
 * without any credentials: what only those with bad or other ones are refused for does not keep
 * out the anonymous. `OPTIONS *`, which asks about the server
 * itself, is left out of account: a rule that every path satisfies guards nothing.
 */
export function guardsAt(
  model: Model,
  place: ProofPlace = {},
  who: 'anyone' | 'anonymous' = 'anyone',
): readonly { readonly way: Way; readonly guard: Guard }[] {
  const ways = waysThrough(model)
  return ways.entries
    .filter((entry) => isAt(entry, place))
    .map((entry) => ({ way: wayOf(entry), guard: guardOf(entry, ways, who) }))
}

function guardOf(entry: Entry, ways: Ways, who: 'anyone' | 'anonymous'): Guard {
  const { space, taken } = spaceOf(entry, ways, 'proof')
  const identities = who === 'anyone' ? [] : identitiesOf(entry)
  for (const name of identities) space.learnVariable(name)
  const without = identities.map((name) => negation(space.isSet(name)))
  const refused = any(refusals(space, entry))
  const known = solve([...taken, ...without, refused, ...space.axioms])
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

/** All names by which rules on the way know who asks. */
function identitiesOf({ points }: Entry): readonly string[] {
  const names = points.flatMap(({ names: own, rules, required }) => [
    ...own.values(),
    ...rules.flatMap(({ condition }) => [...(condition.names?.values() ?? [])]),
    ...required,
  ])
  return [...new Set(names)]
}

/** What can keep requests out and is no rule. */
function beyondRules({ points }: Entry, who: 'anyone' | 'anonymous'): readonly string[] {
  const passes = who === 'anyone' ? ['Permissive'] : ['Permissive', 'Optional']
  const authentications = points.flatMap((point) => point.authentications)
  const found = authentications
    .filter(({ value }) => !passes.includes((value as { readonly mode?: string }).mode ?? ''))
    .map(({ kind }) => `what \`${kind}\` accepts`)
  const { listener } = points[0]?.where ?? {}
  const hasTls = listener?.protocol === 'HTTPS' || listener?.protocol === 'TLS'
  if (hasTls && listener.tls.mode === 'Terminate' && listener.tls.clients !== undefined) {
    found.push('which client certificates are accepted')
  }
  return found
}

function isAt({ where, backend }: Entry, place: ProofPlace): boolean {
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

function stageOf({ points }: Entry): 'connection' | 'traffic' | 'backend' {
  return (points.at(-1)?.stage ?? 'connection') as 'connection' | 'traffic' | 'backend'
}

interface Asked {
  readonly text: string
  readonly expression: Expression
}

const MOST_TRIES = 12

/** `proven`, an example, or why it is not known. */
function proveWay(
  entry: Entry,
  ways: Ways,
  { text, expression }: Asked,
  decide: Decide | undefined,
): string | { readonly example: ExampleRequest } {
  const names = entry.points.at(-1)?.names ?? new Map()
  const condition: Condition = { text, term: expression.term, names }
  const ask = (mode: Mode) => {
    const { space, taken } = spaceOf(entry, ways, mode, condition)
    const formulas = [...taken, admits(space, entry), space.formula(condition, NOT_TRUE)]
    return { space, formulas: [...formulas, ...space.axioms] }
  }
  const proof = ask('proof')
  const known = solve(proof.formulas)
  if (known.kind === 'impossible') return 'proven'
  const isTrue = expression.predicate()
  const search = ask('search')
  const avoided: Formula[] = []
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const found = solve([...search.formulas, ...avoided])
    if (found.kind !== 'possible') break
    const example = exampleFor(found.assignment, entry)
    const isMissed = !isTrue(attributesOf(example, entry, names))
    const verdict = decide?.(example)
    const isAdmitted = decide === undefined ? proof.space.isExact : verdict?.isAdmitted === true
    if (isMissed && isAdmitted && (verdict?.route ?? entry.route) === entry.route)
      return { example }
    avoided.push(otherThan(found.assignment))
  }
  return reasonOf(entry, known.kind === 'untold', condition)
}

/** Another one that differs in something. */
function otherThan(assignment: Assignment): Formula {
  return any(
    [...assignment].map(([unknown, possibility]) =>
      literal(unknown, (index) => unknown.possibilities[index] !== possibility),
    ),
  )
}

function exampleFor(assignment: Assignment, entry: Entry): ExampleRequest {
  const facts = new Map(entry.points.flatMap((point) => [...point.facts]))
  return exampleOf(worldOf(assignment), entry, facts)
}

/** All that is on the way, and what the route takes; without a condition, but for `OPTIONS *`. */
function spaceOf(entry: Entry, ways: Ways, mode: Mode, condition?: Condition) {
  const facts = new Map(entry.points.flatMap((point) => [...point.facts]))
  for (const name of entry.points.flatMap(({ required }) => required)) {
    // Whether there are credentials is for the way to ask, not to be taken for granted.
    if (facts.get(name)?.kind === 'set') facts.delete(name)
  }
  const space = new Space(STAGES.backend, facts, mode)
  const rivals = rivalsOf(entry, ways)
  const isServer = condition === undefined && entry.match !== undefined ? [SERVER] : []
  learnEntry(space, entry)
  for (const one of [...rivals.map((rival) => rival.condition), ...isServer]) space.learn(one)
  if (condition !== undefined) space.learn(condition)
  const missed = [...rivals.map((rival) => rival.condition), ...isServer]
  const taken = [takes(space, entry), ...missed.map((one) => space.formula(one, NOT_TRUE))]
  return { space, taken }
}

const SERVER: Condition = conditionOf("request.path == '*'")

function conditionOf(text: string): Condition {
  const { expression } = compile(text, STAGES.traffic, { expect: BOOL })
  if (expression === undefined) throw new Error(`no expression: ${text}`)
  return { text, term: expression.term }
}

/** The first condition on the way that is not looked into. */
function reasonOf({ match, points }: Entry, isTooMuch: boolean, asked?: Condition): string {
  if (isTooMuch) return 'the rules are too many to be looked into together'
  const rules = points.flatMap((point) => point.rules.filter(({ isEnforced }) => isEnforced))
  const conditions = [
    ...(asked === undefined ? [] : [asked]),
    ...rules.map(({ condition }) => condition),
    ...(match === undefined ? [] : [match.condition]),
  ]
  for (const { term, text, parts = [] } of conditions) {
    const [part] = [...partsNotCovered(term, text), ...parts.map(({ id }) => id)]
    if (part !== undefined) return `\`${part}\` is not of a form that is looked into`
  }
  return 'every example that was found is decided by something else'
}
