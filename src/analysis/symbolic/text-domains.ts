/**
 * The strings that an attribute can have in a request that the gateway accepts: an automaton over
 * characters, so that it can be proven that no string begins in some way. It may accept more than
 * the gateway does, but never less.
 */
export interface TextDomain {
  readonly start: string
  /** The state after the character; undefined if no string of the domain continues like this. */
  step(state: string, character: string): string | undefined
  accepts(state: string): boolean
  /** At least one character of each class that `step` distinguishes, the likely ones first. */
  readonly characters: readonly string[]
  /** Strings for examples, in order of preference. */
  readonly samples: readonly string[]
  /** What can follow a prefix, in order of preference. */
  readonly tails: readonly string[]
}

export function domainOf(steps: readonly string[]): TextDomain {
  const [variable, field, name] = steps
  if (variable === 'request') {
    if (field === 'headers' && name !== undefined) return name === 'host' ? HOST_HEADER : HEADER
    return REQUEST[field ?? ''] ?? ANYTHING
  }
  if (variable === 'destination' && field === 'hostname') return SERVER_NAME
  if (variable === 'source' && field === 'identity') return SPIFFE_ID
  if (variable === 'source' && field === 'subjectCn') return COMMON_NAME
  return ANYTHING
}

export function isInDomain(text: string, domain: TextDomain): boolean {
  const state = walk(text, domain)
  return state !== undefined && domain.accepts(state)
}

/** The state after the string. */
export function walk(text: string, domain: TextDomain): string | undefined {
  let state: string | undefined = domain.start
  for (const character of text) {
    state = domain.step(state, character)
    if (state === undefined) return undefined
  }
  return state
}

const ANYTHING: TextDomain = {
  start: '',
  step: (_, character) => (character.isWellFormed() ? '' : undefined),
  accepts: () => true,
  characters: ['x', 'z', '0', '-'],
  samples: ['other', 'another', 'x'],
  tails: ['', '-7', 'z'],
}

/** A certificate with an empty name has none. */
const COMMON_NAME: TextDomain = {
  ...ANYTHING,
  step: (_, character) => (character.isWellFormed() ? 'x' : undefined),
  accepts: (state) => state !== '',
}

/** Any string of certain characters. */
function textsOf(
  pattern: RegExp,
  rest: Pick<TextDomain, 'characters' | 'samples' | 'tails'>,
  mayBeEmpty: boolean,
): TextDomain {
  return {
    ...rest,
    start: '',
    step: (_, character) => (pattern.test(character) && !isControl(character) ? 'x' : undefined),
    accepts: (state) => mayBeEmpty || state !== '',
  }
}

function isControl(character: string): boolean {
  const code = character.codePointAt(0) as number
  return code < 32 || code === 127
}

/** RFC 9110 §9.1: any token, case-sensitive; the gateway accepts none with lowercase letters. */
const METHOD = textsOf(
  /^[!#$%&'*+\-.^_`|~0-9A-Z]$/,
  {
    characters: ['X', '0', '-'],
    samples: ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'PURGE'],
    tails: ['', 'X'],
  },
  false,
)

const QUERY = textsOf(
  /^[^ #]$/,
  {
    characters: ['z', '1', '&', '=', '%'],
    samples: ['', 'a=1', 'q=other'],
    tails: ['', '1', '&z=1'],
  },
  true,
)

/**
 * Without white space at its ends, except if repeated headers were joined and the last one is
 * empty.
 */
const HEADER: TextDomain = {
  start: 'start',
  step(state, character) {
    if (isControl(character) && character !== '\t') return undefined
    if (character === ' ' || character === '\t') {
      if (state === 'start') return undefined
      return state === 'comma' && character === ' ' ? 'joined' : 'space'
    }
    return character === ',' || character === ';' ? 'comma' : 'text'
  },
  accepts: (state) => state !== 'space',
  characters: ['z', '1', ',', ';', ' '],
  samples: ['other', 'another', '1'],
  tails: ['', '-7', 'z'],
}

/**
 * Names in lowercase, without empty labels, and IPv6 addresses in brackets. This is more than the
 * gateway accepts, which also limits the length. HTTP/1.0 requests may have no host.
 */
const HOST: TextDomain = {
  start: 'empty',
  step(state, character) {
    if (state === 'closed') return undefined
    if (state === 'empty' && character === '[') return 'address'
    if (state === 'address') {
      if (character === ']') return 'closed'
      return /^[0-9a-f:.]$/.test(character) ? 'address' : undefined
    }
    if (character === '.') return state === 'label' ? 'dot' : undefined
    return /^[a-z0-9_-]$/.test(character) ? 'label' : undefined
  },
  accepts: (state) => state === 'empty' || state === 'label' || state === 'closed',
  characters: ['z', '0', '.', '[', ':', ']'],
  samples: ['example.com', 'other.example.org', 'host.test', ''],
  tails: ['', 'z', '.example.com'],
}

export const SERVER_NAME: TextDomain = {
  ...HOST,
  accepts: (state) => state === 'label',
  samples: ['example.com', 'other.example.org', 'host.test'],
}

/** With a port and in any case; examples preferably without. */
const HOST_HEADER: TextDomain = { ...HEADER, samples: SERVER_NAME.samples }

const SPIFFE = 'spiffe://'

/** Other names in a certificate are not an identity. */
const SPIFFE_ID: TextDomain = {
  start: '',
  step(state, character) {
    if (state === SPIFFE) return character.isWellFormed() ? SPIFFE : undefined
    const text = state + character
    return SPIFFE.startsWith(text) ? text : undefined
  },
  accepts: (state) => state === SPIFFE,
  characters: [...new Set(`xz0-.${SPIFFE}`)],
  samples: ['spiffe://example.org/other', 'spiffe://example.org/another'],
  tails: ['', 'z', '/z'],
}

/**
 * Paths reach rules normalized: no dot segments or what some servers read as one, no escapes of
 * characters that need none, no escapes of a slash, a backslash or NUL, and hexadecimal digits in
 * uppercase. `OPTIONS *` is rejected.
 *
 * States: the segment so far (`/` for empty, `.`, `..` or anything else), and after a `%` what was
 * read of the escape.
 */
const PATH: TextDomain = {
  start: '',
  step(state, character) {
    if (state === '') return character === '/' ? '/' : undefined
    const percent = state.indexOf('%')
    if (percent >= 0) return escaped(state.slice(0, percent), state.slice(percent + 1) + character)
    if (character === '%') return `${state}%`
    if (!/^[!-"$&->@-[\]-~]$/.test(character)) return undefined
    const isDots = state === '.' || state === '..'
    if (character === '/') return isDots ? undefined : '/'
    if (character === ';' && isDots) return undefined
    if (character !== '.') return 'x'
    return { '/': '.', '.': '..' }[state] ?? 'x'
  },
  accepts: (state) => state === '/' || state === 'x',
  characters: ['x', 'B', '0', '2', '3', '/', '.', ';', '%'],
  samples: ['/', '/other', '/index'],
  tails: ['', 'x', '/x', '20', '0', 'B', 'C'],
}

function escaped(segment: string, digits: string): string | undefined {
  if (!/^[0-9A-F]{1,2}$/.test(digits)) return undefined
  if (digits.length === 1) return `${segment}%${digits}`
  if ((segment === '.' || segment === '..') && digits === '3B') return undefined
  const character = String.fromCharCode(Number.parseInt(digits, 16))
  return /[A-Za-z0-9\-._~/\\\0]/.test(character) ? undefined : 'x'
}

/** One of a few strings. */
function oneOf(...texts: readonly string[]): TextDomain {
  return {
    start: '',
    step(state, character) {
      const text = state + character
      return texts.some((one) => one.startsWith(text)) ? text : undefined
    },
    accepts: (state) => texts.includes(state),
    characters: [...new Set(texts.join(''))],
    samples: texts,
    tails: [''],
  }
}

const REQUEST: Readonly<Record<string, TextDomain>> = {
  method: METHOD,
  path: PATH,
  query: QUERY,
  host: HOST,
  scheme: oneOf('http', 'https'),
  version: {
    ...ANYTHING,
    step: (state, character) => {
      const text = state.length < 5 ? state + character : state
      return 'HTTP/'.startsWith(text) ? text : undefined
    },
    accepts: (state) => state === 'HTTP/',
    samples: ['HTTP/1.1', 'HTTP/2', 'HTTP/1.0'],
  },
}
