import { STAGES } from '../../cel/index.ts'
import type { Facts } from '../symbolic/attribute-tree.ts'
import { all, any, type Formula, literal } from '../symbolic/formula.ts'
import { nameIn } from '../symbolic/host-header.ts'
import { NOT_TRUE } from '../symbolic/outcome.ts'
import { solve } from '../symbolic/solve.ts'
import { type Mode, Space } from '../symbolic/space.ts'
import { worldOf } from '../symbolic/world.ts'
import { admits, denials, learnEntry, oneTokenForBoth, takes, unserved } from './admission.ts'
import { shaped } from './call-shapes.ts'
import { certificateAxioms, learnCertificate, withCertificateOf } from './certificates.ts'
import { type Disguise, hintKeys, takesOneOfEach, withKnownKey } from './credentials.ts'
import type { Decide, Verdict } from './difference.ts'
import { doorFor, doorsBefore, type Entry, type RouteMatch, type Ways } from './entries.ts'
import { type ExampleRequest, exampleOf } from './example.ts'
import { onSharedOpening } from './openings.ts'
import { mayMeet, rivalsOf } from './precedence.ts'
import { insteadText } from './reasons.ts'

export interface Found {
  readonly example: ExampleRequest
  readonly denying: Verdict
  readonly admitting: Verdict
  /** It is denied if it is sent more often than a limit allows. */
  readonly isOverLimit?: true
}

export interface Sides {
  readonly from: Ways
  readonly to: Ways
  readonly decideFrom: Decide
  readonly decideTo: Decide
}

/** The entry itself, or one for each kind of request that examples may be. */
export function variantsOf(entry: Entry): readonly Entry[] {
  const { shapes = [] } = entry.form ?? {}
  return shapes.length === 0 ? [entry] : shapes.map((shape) => shaped(entry, shape))
}

export interface Tried {
  readonly found?: Found
  readonly instead?: string
}

/** The first that is an example; otherwise what became of the first one that was tried. */
export function firstExample(tries: readonly (() => Tried)[]): Tried {
  let first: Tried = {}
  for (const attempt of tries) {
    const tried = attempt()
    if (tried.found !== undefined) return tried
    if (first.instead === undefined) first = tried
  }
  return first
}

/** Max number of attempts to replace an example that another route matches. */
const MAX_TRIES = 12

export function example(
  formulas: readonly Formula[],
  entry: Entry,
  facts: Facts,
  sides: Sides,
  other: Entry | 'none',
  disguise: Disguise = (request) => request,
): Tried {
  const avoided: Formula[] = []
  let instead: string | undefined
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const solution = solve([...formulas, ...avoided])
    if (solution.kind !== 'possible') break
    const plain = exampleOf(worldOf(solution.assignment), entry, facts)
    const made = disguise(onSharedOpening(plain, entry, other))
    const known = withKnownKey(made, other === 'none' ? [entry] : [entry, other])
    const request = known ?? made
    const { denying, admitting } = judge(request, entry, other, sides)
    const isShown =
      known !== undefined &&
      denying?.isAdmitted === false &&
      admitting?.isAdmitted === true &&
      (Object.keys(request.identity).length === 0 || takesOneOfEach(entry)) &&
      // Both sides decided the whole request. It is an example only if this route matches it.
      (entry.match === undefined || admitting.route === entry.route)
    if (isShown) return { found: { example: request, denying, admitting } }
    instead = insteadText(request, entry.route, denying, admitting)
    // Another route matched it: search for a request that differs in at least one attribute.
    avoided.push(
      any(
        [...solution.assignment].map(([unknown, possibility]) =>
          literal(unknown, (index) => unknown.possibilities[index] !== possibility),
        ),
      ),
    )
  }
  return instead === undefined ? {} : { instead }
}

/** Decides on both sides, at the listener that the host selects on a shared port. */
function judge(
  request: ExampleRequest,
  entry: Entry,
  other: Entry | 'none',
  { from, to, ...decide }: Sides,
) {
  const { port } = entry.where.listener
  const at = (ways: Ways): ExampleRequest => {
    if (entry.match === undefined || port === undefined) return request
    const isThere = ways.listeners.some((one) => one.port === port)
    const listener = isThere ? doorFor(ways, port, nameIn(request.host)) : entry.listener
    return { ...request, listener: listener ?? entry.listener }
  }
  // Of several backends chosen at random, use the one that rejects the request; of providers, use
  // all, since one is enough.
  const { backend = undefined, provider = undefined } = other === 'none' ? {} : other
  const isSame = provider === entry.provider
  const there = other === 'none' ? {} : { backend, provider: isSame ? provider : undefined }
  const denying = decide.decideFrom({ ...at(from), ...there })
  return { denying, admitting: decide.decideTo(at(to)) }
}

/**
 * The formulas for requests that the entry matches and admits, and for each reason of the other one
 * to reject them. All `others` reject them, too.
 */
export function ask(
  entry: Entry,
  other: Entry | 'none',
  sides: Sides,
  mode: Mode,
  others: readonly Entry[] = [],
) {
  const { from, to } = sides
  const entries = other === 'none' ? [entry] : [entry, other, ...others]
  const facts = withCertificateOf(factsOf(entries), entry)
  const space = new Space(STAGES[entry.message === undefined ? 'backend' : 'mcp'], facts, mode)
  const doors = other === 'none' ? doorsBefore(entry, from, to) : []
  const none = doors
    .flatMap((door) => from.matches.get(door) ?? [])
    .filter((one) => entry.match === undefined || mayMeet(one, entry.match))
  const rivals = other === 'none' ? [rivalsOf(entry, to), []] : sharedRivals(entry, other, sides)
  for (const one of entries) learnEntry(space, one)
  for (const { condition } of [...none, ...rivals.flat()]) space.learn(condition)
  for (const one of entries) learnCertificate(space, one)
  hintKeys(space, entry)
  const missed = ({ condition }: RouteMatch) => space.formula(condition, NOT_TRUE)
  const given = [takes(space, entry), ...rivals[0].map(missed), admits(space, entry)]
  if (other !== 'none') {
    given.push(takes(space, other), ...rivals[1].map(missed))
    for (const one of [other, ...others]) given.push(...oneTokenForBoth(space, entry, one))
    for (const one of others) given.push(any(deniedBy(space, one)))
  }
  const ways = other === 'none' ? [all(none.map(missed))] : deniedBy(space, other)
  const conditions = [...none, ...rivals.flat(), ...entries.flatMap(({ match }) => match ?? [])]
  return {
    given: [...given, ...certificateAxioms(space, entries), ...space.axioms],
    ways,
    facts,
    isExact: space.isExact,
    conditions: conditions.map(({ condition }) => condition),
  }
}

/** The rivals of each of the two, without those that no request of the other one matches. */
function sharedRivals(entry: Entry, other: Entry, { from, to }: Sides) {
  const near = (rivals: readonly RouteMatch[], { match }: Entry) =>
    rivals.filter((one) => match === undefined || mayMeet(one, match))
  return [near(rivalsOf(entry, to), other), near(rivalsOf(other, from), entry)] as const
}

function deniedBy(space: Space, other: Entry): readonly Formula[] {
  return [...denials(space, other), ...unserved(space, other)]
}

/** The facts of both sides. A side must check the variables that it requires, not assume them. */
function factsOf(entries: readonly Entry[]): Facts {
  const facts = new Map(
    entries.flatMap(({ points }) => points.flatMap((point) => [...point.facts])),
  )
  const required = new Set(entries.flatMap(({ points }) => points.flatMap((one) => one.required)))
  for (const [name, fact] of facts)
    if (fact.kind === 'set' && required.has(name)) facts.delete(name)
  return facts
}
