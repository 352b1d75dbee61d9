/** What the rules at hand ask of a text. */
export interface TextQuestions {
  readonly equal: ReadonlySet<string>
  readonly prefixes: ReadonlySet<string>
  /** Taken as hints for examples only. */
  readonly suffixes: ReadonlySet<string>
  readonly infixes: ReadonlySet<string>
}

export interface TextKind {
  /** Texts that can be told apart from all others, in the order of liking; the first few do. */
  readonly samples: readonly string[]
  /** What can be put behind a prefix. */
  readonly tails: readonly string[]
  /** Whether a request can carry the text there. */
  readonly isPossible: (text: string) => boolean
}

/**
 * A text for each class that equality and prefixes can tell apart: every text that is asked for,
 * for every prefix one that has it and no longer one, and one that has none. Texts that a request
 * cannot carry are left out.
 */
export function textsFor(questions: TextQuestions, kind: TextKind): readonly string[] {
  const { equal, prefixes, suffixes, infixes } = questions
  const found = new Set<string>()
  const add = (text: string) => void (kind.isPossible(text) && found.add(text))
  const others = [...kind.samples, ...kind.samples.map((sample) => `${sample}-7`)]
  const isOther = (text: string) =>
    kind.isPossible(text) && !equal.has(text) && !hasPrefix(text, prefixes)
  const other = others.find(isOther) ?? counted((number) => `${kind.samples[0]}${number}`, isOther)
  if (other !== undefined) found.add(other)
  for (const text of equal) add(text)
  for (const prefix of prefixes) {
    const isOwn = (text: string) =>
      kind.isPossible(text) && !equal.has(text) && longest(text, prefixes) === prefix
    const own =
      kind.tails.map((tail) => prefix + tail).find(isOwn) ??
      counted((number) => `${prefix}z${number}`, isOwn)
    if (own !== undefined) found.add(own)
    add(prefix)
  }
  for (const suffix of suffixes) {
    for (const sample of kind.samples) add(sample + suffix)
    for (const prefix of [...prefixes].slice(0, MOST_JOINED)) {
      add(prefix + suffix)
      add(`${prefix}x${suffix}`)
    }
  }
  for (const infix of infixes) {
    add(infix)
    for (const sample of kind.samples) add(`${sample}${infix}z`)
  }
  return [...found]
}

const MOST_JOINED = 20

/** Some number gives a text of its own wherever there is one at all: others are finitely many. */
function counted(
  make: (number: number) => string,
  test: (text: string) => boolean,
): string | undefined {
  for (let number = 0; number < 1000; number++) {
    const text = make(number)
    if (test(text)) return text
  }
  return undefined
}

function hasPrefix(text: string, prefixes: ReadonlySet<string>): boolean {
  return longest(text, prefixes) !== undefined
}

function longest(text: string, prefixes: ReadonlySet<string>): string | undefined {
  for (let end = text.length; end >= 0; end--) {
    const prefix = text.slice(0, end)
    if (prefixes.has(prefix)) return prefix
  }
  return undefined
}
