import { type PatternMachine, patternMachine } from './pattern-machine.ts'
import type { TextDomain } from './text-domains.ts'
import type { TextQuestions } from './texts.ts'

/** Max number of states to visit before giving up. */
const MAX_STATES = 3_000
/** Max number of tests that each step has to follow. */
const MAX_FOLLOWED = 60

interface State {
  readonly domain: string
  /** The string so far, as long as it is the beginning of a tested string. */
  readonly begun: string | undefined
  readonly prefix: string | undefined
  /** The longest end of the string with which a suffix or an infix begins. */
  readonly tail: string
  /** The infixes found so far, one digit each. */
  readonly met: string
  /** The number of characters so far, up to the limit that matters. */
  readonly length: number
  /** The state of each regular expression. */
  readonly patterns: readonly string[]
}

/**
 * A string of every class that prefixes, suffixes, infixes and equality distinguish: a walk through
 * all states of one automaton that follows every test at once. Undefined if there are too many
 * states.
 */
export function exploreTexts(
  questions: TextQuestions,
  domain: TextDomain,
): readonly string[] | undefined {
  const { equal, prefixes, suffixes, infixes } = questions
  const machines = [...questions.patterns].map((one) => patternMachine(one) as PatternMachine)
  if (machines.length + suffixes.size + infixes.size > MAX_FOLLOWED) return undefined
  const begun = beginningsOf([...equal, ...prefixes])
  const parts = [...suffixes, ...infixes]
  const tails = beginningsOf(parts)
  const within = [...infixes]
  const characters = charactersFor(
    [...equal, ...prefixes, ...parts, ...machines.flatMap((one) => one.characters)],
    domain,
  )
  const meet = (tail: string, met: string) =>
    within.map((part, at) => (met[at] === '1' || tail.endsWith(part) ? '1' : '0')).join('')
  const nothing = within.map(() => '0').join('')
  const first: State = {
    domain: domain.start,
    begun: '',
    prefix: longest('', prefixes),
    tail: '',
    met: meet('', nothing),
    length: 0,
    patterns: machines.map(({ start }) => start),
  }
  const next = (state: State, character: string): State | undefined => {
    const after = domain.step(state.domain, character)
    if (after === undefined) return undefined
    const text = state.begun === undefined ? undefined : state.begun + character
    const own = text !== undefined && begun.has(text) ? text : undefined
    const tail = tailOf(state.tail + character, tails)
    const prefix = own !== undefined && prefixes.has(own) ? own : state.prefix
    const length = Math.min(state.length + 1, questions.longest + 1)
    const patterns = machines.map((one, index) =>
      one.step(state.patterns[index] as string, character),
    )
    return { domain: after, begun: own, prefix, tail, met: meet(tail, state.met), length, patterns }
  }
  const keyOf = ({ domain: at, begun: own, prefix, tail, met, length, patterns }: State) =>
    JSON.stringify([at, own ?? null, prefix ?? null, tail, met, length, patterns])
  const found: string[] = []
  const seen = new Set([keyOf(first)])
  let layer: readonly (readonly [string, State])[] = [['', first]]
  while (layer.length > 0) {
    const following: (readonly [string, State])[] = []
    for (const [text, state] of layer) {
      if (domain.accepts(state.domain)) found.push(text)
      for (const character of characters) {
        const after = next(state, character)
        if (after === undefined) continue
        const key = keyOf(after)
        if (seen.has(key)) continue
        if (seen.size >= MAX_STATES) return undefined
        seen.add(key)
        following.push([text + character, after])
      }
    }
    layer = following
  }
  return found
}

const SORTS = ['abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', '0123456789', '~_-!$*']

/**
 * Every character that is written, and some of each sort that are not: these lead to the same
 * states as any other character that no test contains.
 */
export function charactersFor(written: readonly string[], domain: TextDomain): readonly string[] {
  const asked = new Set(written.flatMap((text) => [...text]))
  const foreign = SORTS.flatMap((sort) => [...sort].filter((one) => !asked.has(one)).slice(-2))
  return [...new Set([...domain.characters, ...foreign, '\u{10fffd}', ...asked])]
}

function beginningsOf(texts: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>([''])
  for (const text of texts) {
    let begun = ''
    for (const character of text) {
      begun += character
      found.add(begun)
    }
  }
  return found
}

function tailOf(text: string, tails: ReadonlySet<string>): string {
  for (let start = 0; start < text.length; start++) {
    const tail = text.slice(start)
    if (tails.has(tail)) return tail
  }
  return ''
}

export function longest(text: string, prefixes: ReadonlySet<string>): string | undefined {
  for (let end = text.length; end >= 0; end--) {
    const prefix = text.slice(0, end)
    if (prefixes.has(prefix)) return prefix
  }
  return undefined
}
