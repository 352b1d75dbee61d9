import { any, type Formula } from '../symbolic/formula.ts'
import { solve } from '../symbolic/solve.ts'
import { aligned, placedApart, specialized } from './apart.ts'
import { otherCertificates } from './certificates.ts'
import { disguises } from './credentials.ts'
import { type Entry, failsOtherwise, otherSources, readsSource, repliesUntold } from './entries.ts'
import { ask, example, type Found, firstExample, type Sides, variantsOf } from './find-example.ts'
import {
  deniedOpening,
  hasPlainOpenings,
  isOpenedAlike,
  type Opening,
  OTHER_STREAM_OPENINGS,
  openedBy,
  openingsBeyond,
  openingsBySource,
  shareOpening,
  UNREAD_OPENINGS,
  UNSHOWN_OPENING,
  withOpening,
} from './openings.ts'
import {
  otherCredentials,
  otherNamesText,
  otherPolicies,
  otherSourcesText,
  SPLIT_TEXT,
  uncoveredText,
  unlookedText,
} from './reasons.ts'
import { searchLimits, searchServed } from './search-policies.ts'
import { otherKinds } from './unlooked.ts'

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
export function search(general: Entry, written: Entry | 'none', sides: Sides): Searched {
  const entry = specialized(general)
  const other =
    written === 'none' ? written : placedApart(aligned(specialized(written), entry), entry)
  if (other === 'none' || isOpenedAlike(entry, other)) return searchShared(entry, other, sides)
  if (entry.match === undefined) return searchStream(entry, other, sides)
  const shared = shareOpening(entry, other) ? searchShared(entry, other, sides) : { examples: [] }
  // The request that carries a message is compared separately.
  if (entry.message !== undefined) return shared
  return openingsBeyond(entry, other)
    .map((opening) => searchOpening(entry, opening, sides))
    .reduce(joined, shared)
}

/**
 * Requests to a provider that only the entry's side has, which none of the others on its way admits:
 * a client is admitted if it may call one of them.
 */
export function searchBeyond(general: Entry, written: readonly Entry[], sides: Sides): Searched {
  const entry = specialized(general)
  const others = written.map((one) => placedApart(aligned(specialized(one), entry), entry))
  const isAlike = (one: Entry) =>
    isOpenedAlike(entry, one) &&
    otherKinds(entry, one).length === 0 &&
    !repliesUntold(one) &&
    !failsOtherwise(entry, one) &&
    otherCredentials(one, entry) === undefined &&
    otherSources(entry, one).length === 0 &&
    otherCertificates(entry, one) === undefined
  // Only these deny nothing but what their rules deny.
  const [known, ...more] = others.filter(isAlike)
  if (known !== undefined && !repliesUntold(entry)) {
    const { given, ways } = ask(entry, known, sides, 'proof', more)
    if (solve([...given, any(ways)]).kind === 'impossible') return NOTHING_FOUND
  }
  const [first, ...rest] = others
  if (first === undefined) return { ...NOTHING_FOUND, untold: unlookedText(['provider']) }
  const { found } = firstExample(
    variantsOf(entry).flatMap((own) => {
      const denied = () => {
        const { given, ways, facts } = ask(own, first, sides, 'search', rest)
        return example([...given, any(ways)], own, facts, sides, first)
      }
      const served = () => {
        const { given, facts } = ask(own, first, sides, 'search')
        return example(given, own, facts, sides, first)
      }
      return [denied, served]
    }),
  )
  if (found !== undefined) return { examples: [found] }
  return { ...NOTHING_FOUND, untold: unlookedText(['provider']) }
}

/**
 * Connections that are no requests: whether the source is that of a header depends on how they
 * begin. If only one side reads the header, conditions about it are not about the same address.
 */
function searchStream(entry: Entry, other: Entry, sides: Sides): Searched {
  const { alike, apart } = openingsBySource(entry, other)
  const isApart = apart.length > 0 && [entry, other].some(readsSource)
  const isShared = alike.length > 0 || (apart.length > 0 && !isApart)
  const shared = isShared ? searchShared(entry, other, sides) : NOTHING_FOUND
  if (!hasPlainOpenings(entry, other)) return { ...shared, untold: UNREAD_OPENINGS }
  return openingsBeyond(entry, other)
    .map((opening) => searchOpening(entry, opening, sides))
    .reduce(joined, joined(shared, isApart ? searchApart(entry, sides) : NOTHING_FOUND))
}

/** Connections that come from different sources for the two sides, unless the entry admits none. */
function searchApart(entry: Entry, sides: Sides): Searched {
  const admitted = ask(entry, 'none', sides, 'proof')
  const isNone = solve(admitted.given).kind === 'impossible'
  return isNone ? NOTHING_FOUND : unknownBecause(OTHER_STREAM_OPENINGS)
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
  const areNamesKnown = entry.served !== undefined && other.served !== undefined
  if (other.names !== entry.names && !areNamesKnown) {
    return { ...byRules, untold: otherNamesText(other, entry) }
  }
  if (solve(proof.given).kind === 'impossible') return byRules
  const sources = otherSources(entry, other)
  const beyond = [
    searchLimits(entry, other, sides),
    searchServed(entry, other, sides),
    unknownBecause(otherPolicies(entry, other)),
    unknownBecause(otherCertificates(entry, other)),
    unknownBecause(sources.length === 0 ? undefined : otherSourcesText(sources)),
    searchCredentials(entry, other, sides, byRules.examples),
  ].reduce(joined)
  // These also explain why no example of a rule was found.
  const untold = beyond.untold ?? byRules.untold
  const examples = [...byRules.examples, ...beyond.examples]
  return untold === undefined ? { examples } : { examples, untold }
}

function unknownBecause(untold: string | undefined): Searched {
  return untold === undefined ? NOTHING_FOUND : { ...NOTHING_FOUND, untold }
}

const NOTHING_FOUND: Searched = { examples: [] }

/** Credentials that only the entry accepts, unless the rules already show some. */
function searchCredentials(
  entry: Entry,
  other: Entry,
  sides: Sides,
  known: readonly Found[],
): Searched {
  const isShown = ({ denying }: Found) => denying.reason.startsWith('401')
  const credentials = otherCredentials(other, entry)
  if (credentials === undefined || known.some(isShown)) return NOTHING_FOUND
  for (const own of variantsOf(entry)) {
    const { given, facts } = ask(own, other, sides, 'search')
    for (const disguise of disguises(other, entry)) {
      const { found } = example(given, own, facts, sides, other, disguise)
      if (found !== undefined && isShown(found)) return { examples: [found] }
    }
  }
  return { examples: [], untold: credentials }
}

/** Searches by routes and rules, and by whether there are credentials at all. */
function searchRules(
  entry: Entry,
  other: Entry | 'none',
  sides: Sides,
  proof: ReturnType<typeof ask>,
): Searched {
  if (solve([...proof.given, any(proof.ways)]).kind === 'impossible') return { examples: [] }
  const variants = variantsOf(entry).map((own) => ({
    own,
    asked: ask(own, other, sides, 'search'),
  }))
  const examples: Found[] = []
  let untold: string | undefined
  for (const [index, proven] of proof.ways.entries()) {
    if (examples.length >= MAX_EXAMPLES) break
    const known = solve([...proof.given, proven]).kind
    if (known === 'impossible') continue
    const { found, instead } = firstExample(
      variants.map(({ own, asked: { given, ways, facts } }) => () => {
        return example([...given, ways[index] as Formula], own, facts, sides, other)
      }),
    )
    if (found !== undefined) examples.push(found)
    else if (proof.isExact && known === 'possible' && instead !== undefined) untold = instead
    else untold = uncoveredText(other === 'none' ? [entry] : [entry, other], proof.conditions)
  }
  return untold === undefined ? { examples } : { examples, untold }
}

const MAX_EXAMPLES = 8
