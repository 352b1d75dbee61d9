import { sampleOf } from './hints.ts'
import { type PatternMachine, patternMachine } from './pattern-machine.ts'
import { isInDomain, type TextDomain, walk } from './text-domains.ts'
import { charactersFor, exploreTexts, longest } from './text-product.ts'

/** What the given rules test in a string. */
export interface TextQuestions {
  readonly equal: ReadonlySet<string>
  readonly prefixes: ReadonlySet<string>
  readonly suffixes: ReadonlySet<string>
  readonly infixes: ReadonlySet<string>
  /** Regular expressions that `patternMachine` supports. */
  readonly patterns: ReadonlySet<string>
  /** The number of characters is distinguished up to this limit; -1 if it is not distinguished. */
  readonly longest: number
  /** Parts of strings that may change the outcome. Used only in the search for examples. */
  readonly hints: ReadonlySet<string>
}

export interface Texts {
  /** In order of preference. */
  readonly values: readonly string[]
  /** Whether every class has one; if not, suffixes and infixes are only distinguished in part. */
  readonly isWhole: boolean
}

/**
 * A string for each class that these tests can distinguish: every string tested for equality, for
 * every prefix a string that has it and no longer one, one that has none; and the same for each way
 * to end and to contain. Only strings that the domain cannot have are omitted.
 */
export function textsFor(questions: TextQuestions, domain: TextDomain): Texts {
  const { suffixes, infixes, patterns, longest: counted } = questions
  const found = byBeginning(questions, domain)
  addLikely(found, questions, domain, questions.hints)
  if (suffixes.size + infixes.size + patterns.size === 0 && counted < 0)
    return { values: [...found], isWhole: true }
  const parts = [...suffixes, ...infixes, ...[...patterns].map(sampleOf)]
  addLikely(found, questions, domain, parts.slice(0, MAX_JOINED))
  const signature = signatureOf(questions)
  const seen = new Set([...found].map(signature))
  const rest = exploreTexts(questions, domain)
  for (const text of rest ?? []) {
    const own = signature(text)
    if (!seen.has(own)) found.add(text)
    seen.add(own)
  }
  return { values: [...found], isWhole: rest !== undefined }
}

const MAX_JOINED = 20

function byBeginning({ equal, prefixes }: TextQuestions, domain: TextDomain): Set<string> {
  const found = new Set<string>()
  const add = (text: string) => void (isInDomain(text, domain) && found.add(text))
  const own = (prefix: string | undefined) => {
    const isOwn = (text: string) => !equal.has(text) && longest(text, prefixes) === prefix
    const likely =
      prefix === undefined
        ? [...domain.samples, ...domain.samples.map((sample) => `${sample}-7`)]
        : domain.tails.map((tail) => prefix + tail)
    return (
      likely.find((text) => isOwn(text) && isInDomain(text, domain)) ??
      continuation(prefix, { equal, prefixes }, domain)
    )
  }
  const other = own(undefined)
  if (other !== undefined) found.add(other)
  for (const text of equal) add(text)
  for (const prefix of prefixes) {
    const text = own(prefix)
    if (text !== undefined) found.add(text)
    add(prefix)
  }
  return found
}

const MAX_WALKED = 2_000

/**
 * A string that has the prefix and no longer one, and is not tested for equality; undefined if the
 * domain has none. If the search reaches its limit, a string is made up: that does not prove that
 * none exists.
 */
function continuation(
  prefix: string | undefined,
  { equal, prefixes }: Pick<TextQuestions, 'equal' | 'prefixes'>,
  domain: TextDomain,
): string | undefined {
  const begin = prefix ?? ''
  const start = walk(begin, domain)
  if (start === undefined) return undefined
  const isOwn = (text: string) => !equal.has(text) && longest(text, prefixes) === prefix
  if (prefix === undefined && prefixes.has('')) return undefined
  const asked = [...equal, ...prefixes]
  const characters = charactersFor(
    asked.filter((text) => text.startsWith(begin)).map((text) => text.slice(begin.length)),
    domain,
  )
  let queue: readonly (readonly [text: string, state: string])[] = [[begin, start]]
  const seen = new Set<string>()
  for (let walked = 0; queue.length > 0; ) {
    const next: (readonly [string, string])[] = []
    for (const [text, state] of queue) {
      if (++walked > MAX_WALKED) return madeUp(begin, isOwn)
      if (domain.accepts(state) && isOwn(text)) return text
      // After all tested strings, only the state of the domain matters.
      const key = `${state} ${asked.some((one) => one.startsWith(text)) ? text : ''}`
      if (seen.has(key)) continue
      seen.add(key)
      for (const character of characters) {
        const longer = text + character
        const after = domain.step(state, character)
        if (after !== undefined && longest(longer, prefixes) === prefix) next.push([longer, after])
      }
    }
    queue = next
  }
  return undefined
}

function madeUp(begin: string, isOwn: (text: string) => boolean): string {
  for (let number = 0; ; number++) {
    const text = `${begin}\u{10fffd}${number}`
    if (isOwn(text)) return text
  }
}

/** Adds likely examples that end with one of the parts or contain it. */
function addLikely(
  found: Set<string>,
  { prefixes }: TextQuestions,
  domain: TextDomain,
  parts: Iterable<string>,
): void {
  const add = (text: string) => void (isInDomain(text, domain) && found.add(text))
  const begins = [...prefixes].slice(0, MAX_JOINED)
  for (const part of parts) {
    add(part)
    for (const sample of domain.samples) {
      add(sample + part)
      add(`${sample}${part}z`)
    }
    for (const prefix of begins) {
      add(prefix + part)
      add(`${prefix}x${part}`)
    }
  }
}

/** Strings with the same signature have the same outcome for every test. */
function signatureOf(questions: TextQuestions) {
  const { equal, prefixes, suffixes, infixes, patterns, longest: counted } = questions
  const machines = [...patterns].map((pattern) => patternMachine(pattern) as PatternMachine)
  return (text: string) =>
    JSON.stringify([
      equal.has(text) ? text : null,
      longest(text, prefixes) ?? null,
      [...suffixes].map((suffix) => Number(text.endsWith(suffix))).join(''),
      [...infixes].map((infix) => Number(text.includes(infix))).join(''),
      machines.map((machine) => Number(isMatch(text, machine))).join(''),
      Math.min([...text].length, counted + 1),
    ])
}

function isMatch(text: string, machine: PatternMachine): boolean {
  let state = machine.start
  for (const character of text) state = machine.step(state, character)
  return machine.accepts(state)
}
