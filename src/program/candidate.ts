import { compilePattern, type Pattern } from '../cel/library/regex-pattern.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { Match, ValueMatch } from '../model/route.ts'

/** The conditions of a match other than host and path. */
export class Candidate<T> {
  readonly target: T
  /** Undefined unless the path is a regular expression. */
  readonly path: Test | undefined
  /** Empty matches any method. */
  readonly method: string
  readonly headers: readonly ValueTest[]
  readonly query: readonly ValueTest[]
  readonly isPlain: boolean
  /** Whether it also matches CORS preflights for its method. */
  readonly takesPreflights: boolean

  constructor(
    { path, method = '', headers, query }: Match,
    target: T,
    takesPreflights: boolean = false,
  ) {
    this.target = target
    this.path = path.kind === 'regex' ? wholePattern(path.value) : undefined
    this.method = method
    this.headers = valueTests(headers, (name) => name.toLowerCase())
    this.query = valueTests(query, (name) => name)
    this.isPlain = method === '' && this.headers.length + this.query.length === 0
    this.takesPreflights = takesPreflights
  }

  /** Undefined if it cannot be determined. */
  holds({ request }: Exchange): boolean | undefined {
    if (this.method !== '' && this.method !== request.method) {
      if (!this.takesPreflights || this.method !== preflightedMethod(request)) return false
    }
    const { headers, query } = this
    for (let i = 0; i < headers.length; i++) {
      const test = headers[i] as ValueTest
      const held = test.holds(request.headers.get(test.name))
      if (held !== true) return held
    }
    for (let i = 0; i < query.length; i++) {
      const test = query[i] as ValueTest
      const held = test.holds(queryValue(request.search, test.name, test.isOdd))
      if (held !== true) return held
    }
    return true
  }
}

/**
 * The method that a browser requests permission for; undefined if the request is not a preflight.
 * The method of a preflight is always OPTIONS, but the preflight belongs to the route of the
 * request that follows it.
 */
function preflightedMethod({ method, headers }: Exchange['request']): string | undefined {
  if (method !== 'OPTIONS' || headers.get('origin') === undefined) return undefined
  return headers.get('access-control-request-method')
}

/** Gateway API precedence: a method first, then more headers, then more query parameters. */
export function byDetail(a: Candidate<unknown>, b: Candidate<unknown>): number {
  const method = Number(b.method !== '') - Number(a.method !== '')
  // A route for OPTIONS takes precedence over routes that also match preflights for their own
  // method.
  const own = Number(b.method === 'OPTIONS') - Number(a.method === 'OPTIONS')
  return method || own || b.headers.length - a.headers.length || b.query.length - a.query.length
}

class ValueTest {
  readonly name: string
  /** Whether the name contains a character that ends a name in a query. */
  readonly isOdd: boolean
  readonly #value: string
  readonly #pattern: Test | undefined

  constructor(name: string, { kind, value }: ValueMatch) {
    this.name = name
    this.isOdd = /[=&]/.test(name)
    this.#value = value
    this.#pattern = kind === 'regex' ? wholePattern(value) : undefined
  }

  holds(value: string | undefined): boolean | undefined {
    if (value === undefined) return false
    return this.#pattern === undefined ? value === this.#value : this.#pattern.matches(value)
  }
}

/** Gateway API: if several entries have the same name, only the first one counts. */
function valueTests(
  matches: readonly ValueMatch[],
  canonical: (name: string) => string,
): readonly ValueTest[] {
  if (matches.length === 0) return ANYTHING
  const tests = new Map<string, ValueTest>()
  for (const match of matches) {
    const name = canonical(match.name)
    if (!tests.has(name)) tests.set(name, new ValueTest(name, match))
  }
  return [...tests.values()]
}

const ANYTHING: readonly ValueTest[] = []

type Test = Pick<Pattern, 'matches'>

const UNDETERMINED: Test = { matches: () => undefined }

/** Anchored at both ends. The pattern is compiled alone first: `a)|(b` must not close the group. */
function wholePattern(pattern: string): Test {
  const whole = compilePattern(pattern) && compilePattern(`\\A(?:${pattern})\\z`)
  return whole ?? UNDETERMINED
}

const EQUALS = 61

/** The first value of the name, form-decoded. */
function queryValue(search: string, name: string, isOdd: boolean): string | undefined {
  if (isOdd || search.includes('%') || search.includes('+')) {
    return new URLSearchParams(search).get(name) ?? undefined
  }
  for (let at = 1; at < search.length; ) {
    const ampersand = search.indexOf('&', at)
    const end = ampersand === -1 ? search.length : ampersand
    const after = at + name.length
    if (after <= end && end > at && search.startsWith(name, at)) {
      if (after === end) return ''
      if (search.charCodeAt(after) === EQUALS) return search.slice(after + 1, end)
    }
    at = end + 1
  }
  return undefined
}
