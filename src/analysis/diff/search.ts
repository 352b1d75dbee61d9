import { STAGES } from '../../cel/index.ts'
import type { Facts } from '../symbolic/attribute-tree.ts'
import { all, any, type Formula, literal } from '../symbolic/formula.ts'
import { nameIn } from '../symbolic/host-header.ts'
import { NOT_TRUE } from '../symbolic/outcome.ts'
import { solve } from '../symbolic/solve.ts'
import { type Mode, Space } from '../symbolic/space.ts'
import { worldOf } from '../symbolic/world.ts'
import { admits, denials, learnEntry, oneTokenForBoth, takes, unserved } from './admission.ts'
import {
  certificateAxioms,
  learnCertificate,
  otherCertificates,
  withCertificateOf,
} from './certificates.ts'
import { type Disguise, disguises, takesOneOfEach, withKnownKey } from './credentials.ts'
import type { Decide, Verdict } from './difference.ts'
import {
  aligned,
  doorFor,
  doorsBefore,
  type Entry,
  failsOtherwise,
  otherSources,
  placedApart,
  type RouteMatch,
  repliesUntold,
  type Ways,
} from './entries.ts'
import { type ExampleRequest, exampleOf } from './example.ts'
import {
  deniedOpening,
  isOpenedAlike,
  type Opening,
  OTHER_STREAM_OPENINGS,
  onSharedOpening,
  openedBy,
  openingsBeyond,
  shareOpening,
  UNSHOWN_OPENING,
  withOpening,
} from './openings.ts'
import { rivalsOf } from './precedence.ts'
import {
  insteadText,
  otherCredentials,
  otherNamesText,
  otherSourcesText,
  SPLIT_TEXT,
  uncoveredText,
  unlookedText,
} from './reasons.ts'
import { unlookedKinds } from './unlooked.ts'

/** Max number of attempts to replace an example that another route matches. */
const MAX_TRIES = 12

export interface Found {
  readonly example: ExampleRequest
  readonly denying: Verdict
  readonly admitting: Verdict
}

export interface Sides {
  readonly from: Ways
  readonly to: Ways
  readonly decideFrom: Decide
  readonly decideTo: Decide
}

export interface Searched {
  /** One for each reason why the other side rejects. */
  readonly examples: readonly Found[]
  /** Why there may be more. */
  readonly untold?: string
}

/**
 * Requests that the entry admits and the other one rejects. If `examples` is empty and `untold` is
 * not set, it is proven that none exist.
 */
export function search(entry: Entry, written: Entry | 'none', sides: Sides): Searched {
  const other = written === 'none' ? written : placedApart(aligned(written, entry), entry)
  if (other === 'none' || isOpenedAlike(entry, other)) return searchShared(entry, other, sides)
  if (entry.match === undefined) {
    return { ...searchShared(entry, other, sides), untold: OTHER_STREAM_OPENINGS }
  }
  const shared = shareOpening(entry, other) ? searchShared(entry, other, sides) : { examples: [] }
  // The request that carries a message is compared separately.
  if (entry.message !== undefined) return shared
  return openingsBeyond(entry, other)
    .map((opening) => searchOpening(entry, opening, sides))
    .reduce(joined, shared)
}

function joined(one: Searched, other: Searched): Searched {
  const untold = one.untold ?? other.untold
  const examples = [...one.examples, ...other.examples]
  return untold === undefined ? { examples } : { examples, untold }
}

/** Searches connections with this opening, whose requests the other side does not even read. */
function searchOpening(entry: Entry, opening: Opening, sides: Sides): Searched {
  const own = openedBy(entry, opening)
  const { given, facts } = ask(own, 'none', sides, 'proof')
  if (solve(given).kind === 'impossible') return { examples: [] }
  const denying: Sides = { ...sides, decideFrom: () => deniedOpening(opening) }
  const wanted = ask(own, 'none', sides, 'search').given
  const { found } = example(wanted, own, facts, denying, 'none', (request) =>
    withOpening(request, opening),
  )
  return found === undefined ? { examples: [], untold: UNSHOWN_OPENING } : { examples: [found] }
}

/** Searches connections that both sides accept. */
function searchShared(entry: Entry, other: Entry | 'none', sides: Sides): Searched {
  const proof = ask(entry, other, sides, 'proof')
  const byRules = searchRules(entry, other, sides, proof)
  const isShared = other !== 'none' && (repliesUntold(other) || failsOtherwise(entry, other))
  if (repliesUntold(entry) || isShared) return { ...byRules, untold: SPLIT_TEXT }
  if (other === 'none') return byRules
  if (other.names !== entry.names) return { ...byRules, untold: otherNamesText(other, entry) }
  const mayMeet = solve(proof.given).kind !== 'impossible'
  const unlooked = unlookedKinds(entry.unlooked, other.unlooked)
  if (unlooked.length > 0 && mayMeet) return { ...byRules, untold: unlookedText(unlooked) }
  const certificates = otherCertificates(entry, other)
  if (certificates !== undefined && mayMeet) return { ...byRules, untold: certificates }
  const sources = otherSources(entry, other)
  if (sources.length > 0 && mayMeet) return { ...byRules, untold: otherSourcesText(sources) }
  const credentials = otherCredentials(other, entry)
  if (credentials === undefined || !mayMeet) return byRules
  const { given } = ask(entry, other, sides, 'search')
  const { examples } = byRules
  const isShown = ({ denying }: Found) => denying.reason.startsWith('401')
  if (examples.some(isShown)) return byRules
  for (const disguise of disguises(other, entry)) {
    const { found } = example(given, entry, proof.facts, sides, other, disguise)
    if (found === undefined) continue
    if (isShown(found)) return { ...byRules, examples: [...examples, found] }
  }
  return { examples, untold: credentials }
}

/** Searches by routes and rules, and by whether there are credentials at all. */
function searchRules(
  entry: Entry,
  other: Entry | 'none',
  sides: Sides,
  proof: ReturnType<typeof ask>,
): Searched {
  if (solve([...proof.given, any(proof.ways)]).kind === 'impossible') return { examples: [] }
  const { given, ways } = ask(entry, other, sides, 'search')
  const examples: Found[] = []
  let untold: string | undefined
  for (const [index, way] of ways.entries()) {
    if (examples.length >= MAX_EXAMPLES) break
    const known = solve([...proof.given, proof.ways[index] as Formula]).kind
    if (known === 'impossible') continue
    const { found, instead } = example([...given, way], entry, proof.facts, sides, other)
    if (found !== undefined) examples.push(found)
    else if (proof.isExact && known === 'possible' && instead !== undefined) untold = instead
    else untold = uncoveredText(other === 'none' ? [entry] : [entry, other], proof.conditions)
  }
  return untold === undefined ? { examples } : { examples, untold }
}

const MAX_EXAMPLES = 8

export function example(
  formulas: readonly Formula[],
  entry: Entry,
  facts: Facts,
  sides: Sides,
  other: Entry | 'none',
  disguise: Disguise = (request) => request,
): { readonly found?: Found; readonly instead?: string } {
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
 * to reject them.
 */
export function ask(entry: Entry, other: Entry | 'none', { from, to }: Sides, mode: Mode) {
  const entries = other === 'none' ? [entry] : [entry, other]
  const facts = withCertificateOf(factsOf(entries), entry)
  const space = new Space(STAGES[entry.message === undefined ? 'backend' : 'mcp'], facts, mode)
  const doors = other === 'none' ? doorsBefore(entry, from, to) : []
  const none = doors.flatMap((door) => from.matches.get(door) ?? [])
  const rivals = [rivalsOf(entry, to), other === 'none' ? [] : rivalsOf(other, from)] as const
  for (const one of entries) learnEntry(space, one)
  for (const { condition } of [...none, ...rivals.flat()]) space.learn(condition)
  for (const one of entries) learnCertificate(space, one)
  const missed = ({ condition }: RouteMatch) => space.formula(condition, NOT_TRUE)
  const given = [takes(space, entry), ...rivals[0].map(missed), admits(space, entry)]
  if (other !== 'none') {
    given.push(takes(space, other), ...rivals[1].map(missed))
    given.push(...oneTokenForBoth(space, entry, other))
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
