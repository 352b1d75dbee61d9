import { STAGES } from '../../cel/index.ts'
import type { Model } from '../../model/model.ts'
import type { Facts } from '../symbolic/attribute-tree.ts'
import { all, any, type Formula, literal } from '../symbolic/formula.ts'
import { nameIn } from '../symbolic/host-header.ts'
import { NOT_TRUE } from '../symbolic/outcome.ts'
import { solve } from '../symbolic/solve.ts'
import { type Mode, Space } from '../symbolic/space.ts'
import { worldOf } from '../symbolic/world.ts'
import { admits, learnEntry, refusals, takes, unserved } from './admission.ts'
import {
  certificateAxioms,
  learnCertificate,
  otherCertificates,
  withCertificateOf,
} from './certificates.ts'
import { type Disguise, disguises, takesOneOfEach, withKnownKey } from './credentials.ts'
import type { Decide, Difference, SemanticDiff, Untold, Verdict } from './difference.ts'
import {
  aligned,
  doorFor,
  doorsBefore,
  type Entry,
  isSameEntry,
  otherSources,
  placedApart,
  type RouteMatch,
  repliesUntold,
  type Ways,
  waysThrough,
} from './entries.ts'
import { type ExampleRequest, exampleOf } from './example.ts'
import { AMBIGUOUS_NAME, type NamesRead, nameChanges } from './header-names.ts'
import { type UnaccountedPart, unaccountedParts } from './parts.ts'
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
import { routeText } from './route-conditions.ts'
import { servicesAsked } from './services.ts'
import { unlookedKinds } from './unlooked.ts'

/** How often an example that another route took is looked for elsewhere. */
const MAX_TRIES = 12
const MAX_PAIRS = 4_000

/**
 * Which requests a change newly admits or refuses, with an example for each way through the
 * gateway. Every example was decided by both programs; where there is none it is proven that
 * there can be none, or it is said that it is not known.
 */
export function compareModels(
  before: Model,
  after: Model,
  decide: { readonly old: Decide; readonly now: Decide },
  read?: { readonly old: NamesRead; readonly now: NamesRead },
): SemanticDiff {
  const [old, now] = [waysThrough(before), waysThrough(after)]
  const parts = unaccountedParts(before, after)
  const sides = {
    admitted: { from: old, to: now, decideFrom: decide.old, decideTo: decide.now },
    refused: { from: now, to: old, decideFrom: decide.now, decideTo: decide.old },
  }
  const found = (['admitted', 'refused'] as const).map((kind): SemanticDiff => {
    const { differences, untold } = oneWay(kind, sides[kind])
    const [from, to] = kind === 'admitted' ? [read?.old, read?.now] : [read?.now, read?.old]
    const named = byNames(kind, sides[kind], from, to)
    return {
      differences: [...differences, ...named.differences],
      untold: [...unaccounted(parts, kind), ...untold, ...named.untold],
    }
  })
  return {
    differences: found.flatMap(({ differences }) => differences),
    untold: found.flatMap(({ untold }) => untold),
  }
}

/** Headers that are rejected since they may be taken for one that is read on one side alone. */
function byNames(
  kind: Difference['kind'],
  sides: Sides,
  from: NamesRead | undefined,
  to: NamesRead | undefined,
): SemanticDiff {
  const differences: Difference[] = []
  const untold: Untold[] = []
  if (from === undefined || to === undefined) return { differences, untold }
  for (const { listener, name, entries } of nameChanges(sides.to.entries, from, to)) {
    const place = { kind, listener, route: '' }
    const found = firstFound(entries, (entry) => withHeader(entry, name, sides))
    if (found === undefined) {
      const why = `the header \`${name}\` is rejected by one alone, and no example was found`
      if (entries.some((entry) => mayAdmit(entry, sides))) untold.push({ ...place, why })
      continue
    }
    const { entry, example, refusing, admitting } = found
    const [old, now] = kind === 'admitted' ? [refusing, admitting] : [admitting, refusing]
    const none = { backend: undefined, provider: undefined }
    differences.push({ ...place, ...none, example, old, now, ...servicesAsked(entry) })
  }
  return { differences, untold }
}

/** Ways on which one more example is looked for. */
const MAX_WAYS = 40

function firstFound(
  entries: readonly Entry[],
  find: (entry: Entry) => Found | undefined,
): (Found & { readonly entry: Entry }) | undefined {
  for (const entry of entries.slice(0, MAX_WAYS)) {
    const found = find(entry)
    // Another reason is shown elsewhere.
    if (found?.refusing.reason === AMBIGUOUS_NAME) return { ...found, entry }
  }
  return undefined
}

function mayAdmit(entry: Entry, sides: Sides): boolean {
  return solve(ask(entry, 'none', sides, 'proof').given).kind !== 'impossible'
}

/** A request that the way admits, with one more header. */
function withHeader(entry: Entry, name: string, sides: Sides): Found | undefined {
  const { given, facts } = ask(entry, 'none', sides, 'search')
  return example(given, entry, facts, sides, 'none', (request) => ({
    ...request,
    headers: { ...request.headers, [name]: '1' },
  })).found
}

function unaccounted(
  parts: readonly UnaccountedPart[],
  kind: Difference['kind'],
): readonly Untold[] {
  return parts.flatMap(({ part, listeners, route }) =>
    listeners.map((listener) => ({
      kind,
      listener,
      route,
      why: `${part} differs, and what it changes is not looked into`,
      part,
    })),
  )
}

/** What `to` admits and `from` does not. */
function oneWay(kind: Difference['kind'], sides: Sides): SemanticDiff {
  const { from, to } = sides
  const differences: Difference[] = []
  const untold: Untold[] = []
  let pairs = 0
  for (const entry of to.entries) {
    const { listener, route, backend, provider } = entry
    const place = { kind, listener, route }
    const others = counterparts(entry, from, to)
    const asked = servicesAsked(entry)
    let isUntold: string | undefined
    for (const other of others) {
      if (++pairs > MAX_PAIRS) {
        isUntold = 'there are too many routes to compare all with all'
        break
      }
      const found = search(entry, other, sides)
      if (found.untold !== undefined) isUntold = found.untold
      for (const { example, refusing, admitting } of found.examples) {
        const [old, now] = kind === 'admitted' ? [refusing, admitting] : [admitting, refusing]
        if (isReported(differences, entry, refusing)) continue
        differences.push({ ...place, backend, provider, example, old, now, ...asked })
      }
    }
    if (isUntold !== undefined) untold.push({ ...place, why: isUntold })
  }
  return { differences, untold }
}

/** One example for each way through and each reason is enough. */
function isReported(
  differences: readonly Difference[],
  { way }: Entry,
  refusing: Verdict,
): boolean {
  return differences.some(
    ({ listener, route, backend, old, now }) =>
      way.startsWith(`${listener} ${route}`) &&
      way.endsWith(` ${backend ?? ''}`) &&
      [old.reason, now.reason].includes(refusing.reason),
  )
}

/** What took the same requests: the same way, or any way where routes changed; `none`: nothing. */
function counterparts(entry: Entry, from: Ways, to: Ways): readonly (Entry | 'none')[] {
  const doors = doorsBefore(entry, from, to)
  const here = from.entries.filter(({ listener }) => doors.includes(listener))
  const same = here.find(({ key }) => key === entry.key)
  if (matchesAt(from, entry.listener) === matchesAt(to, entry.listener) && same !== undefined) {
    // Backends that only they have got a share of the same requests.
    const own = new Set(to.entries.map(({ way }) => way))
    const beside = here.filter(({ match, way }) => match?.id === entry.match?.id && !own.has(way))
    return [...(isSameEntry(same, entry) ? [] : [same]), ...beside]
  }
  // Of the providers of one backend each is compared with itself, where there is such a one.
  const isBeside = ({ way, match, provider }: Entry) =>
    provider !== entry.provider &&
    here.some((one) => one.way === way && one.match === match && one.provider === entry.provider)
  const rest = here.filter(
    (other) => other !== same && !isSameEntry(other, entry) && !isBeside(other),
  )
  const first = same === undefined || isSameEntry(same, entry) ? [] : [same]
  return [...first, ...rest, 'none']
}

function matchesAt({ matches }: Ways, listener: string): string {
  const own = matches.get(listener) ?? []
  return own.map(({ id, condition }) => `${id} ${routeText(condition)}`).join('\n')
}

interface Found {
  readonly example: ExampleRequest
  readonly refusing: Verdict
  readonly admitting: Verdict
}

export interface Sides {
  readonly from: Ways
  readonly to: Ways
  readonly decideFrom: Decide
  readonly decideTo: Decide
}

export interface Searched {
  /** For each reason why the other one refuses. */
  readonly examples: readonly Found[]
  /** Why there may be more. */
  readonly untold?: string
}

/** Requests that the entry admits and the other one refuses; without any it is proven so. */
export function search(entry: Entry, written: Entry | 'none', sides: Sides): Searched {
  const other = written === 'none' ? written : placedApart(aligned(written, entry), entry)
  const proof = ask(entry, other, sides, 'proof')
  const byRules = searchRules(entry, other, sides, proof)
  const isShared = other !== 'none' && repliesUntold(other)
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
  const isShown = ({ refusing }: Found) => refusing.reason.startsWith('401')
  if (examples.some(isShown)) return byRules
  for (const disguise of disguises(other, entry)) {
    const { found } = example(given, entry, proof.facts, sides, other, disguise)
    if (found === undefined) continue
    if (isShown(found)) return { ...byRules, examples: [...examples, found] }
  }
  return { examples, untold: credentials }
}

/** By what routes and rules say, and whether there are credentials at all. */
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

function example(
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
    const made = disguise(exampleOf(worldOf(solution.assignment), entry, facts))
    const known = withKnownKey(made, other === 'none' ? [entry] : [entry, other])
    const request = known ?? made
    const { refusing, admitting } = judge(request, entry, other, sides)
    const isShown =
      known !== undefined &&
      refusing?.isAdmitted === false &&
      admitting?.isAdmitted === true &&
      (Object.keys(request.identity).length === 0 || takesOneOfEach(entry)) &&
      // Both were asked about the whole of it: it is shown for this route only if that takes it.
      (entry.match === undefined || admitting.route === entry.route)
    if (isShown) return { found: { example: request, refusing, admitting } }
    instead = insteadText(request, entry.route, refusing, admitting)
    // Something else took it: look for another one that differs in something.
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

/** Both sides by the listener that would take it, which the host decides on a shared port. */
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
  // Of several backends by chance, the one that refuses it; of providers, all, as one is enough.
  const { backend = undefined, provider = undefined } = other === 'none' ? {} : other
  const isSame = provider === entry.provider
  const there = other === 'none' ? {} : { backend, provider: isSame ? provider : undefined }
  const refusing = decide.decideFrom({ ...at(from), ...there })
  return { refusing, admitting: decide.decideTo(at(to)) }
}

/** The entry takes and admits it; and the ways in which the other one refuses it. */
function ask(entry: Entry, other: Entry | 'none', { from, to }: Sides, mode: Mode) {
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
  if (other !== 'none') given.push(takes(space, other), ...rivals[1].map(missed))
  const ways = other === 'none' ? [all(none.map(missed))] : refusedBy(space, other)
  const conditions = [...none, ...rivals.flat(), ...entries.flatMap(({ match }) => match ?? [])]
  return {
    given: [...given, ...certificateAxioms(space, entries), ...space.axioms],
    ways,
    facts,
    isExact: space.isExact,
    conditions: conditions.map(({ condition }) => condition),
  }
}

function refusedBy(space: Space, other: Entry): readonly Formula[] {
  return [...refusals(space, other), ...unserved(space, other)]
}

/** Of both sides only what both know: what one of them takes for granted is for it to ask. */
function factsOf(entries: readonly Entry[]): Facts {
  const facts = new Map(
    entries.flatMap(({ points }) => points.flatMap((point) => [...point.facts])),
  )
  const required = new Set(entries.flatMap(({ points }) => points.flatMap((one) => one.required)))
  for (const [name, fact] of facts)
    if (fact.kind === 'set' && required.has(name)) facts.delete(name)
  return facts
}
