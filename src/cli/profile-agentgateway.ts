import { isScalar, LineCounter, type Pair, parseDocument, visit } from 'yaml'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { isNamedHost, lacksMode } from './convert/agentgateway-defaults.ts'

/** A difference in meaning between agentgateway and this gateway. */
interface Difference {
  readonly message: string
  readonly hint: string
  /** Whether a key with its value is an instance of it. */
  readonly concerns: (key: string, pair: Pair) => boolean
}

const EXPRESSIONS = new Set(['rules', 'allow', 'deny', 'require', 'filter', 'add', 'set', 'key'])

const DIFFERENCES: readonly Difference[] = [
  {
    message: 'without `mode`, authentication is Strict here and Optional in agentgateway',
    hint: 'set `mode: Optional` to evaluate rules for requests without credentials',
    concerns: (_, pair) => lacksMode(pair),
  },
  {
    message:
      "a backend written as name:port gets the client's Host here and its own name in agentgateway",
    hint: 'write it as a URL (http://name:port), or set `urlRewrite: {authority: auto}`',
    concerns: (key, { value }) => key === 'host' && isScalar(value) && isNamedHost(value.value),
  },
  {
    message:
      'relative paths are resolved from the folder of the file here, and from the working directory in agentgateway',
    hint: 'a file that is not in that folder is searched in the working directory',
    concerns: (key, { value }) =>
      FILE_KEYS.has(key) && isScalar(value) && isRelativePath(value.value),
  },
  {
    message:
      'a header that is sent twice is one string, joined with ", ", here and a list in agentgateway',
    hint: 'use `request.headers.raw()[name]` to get a list in both',
    concerns: (key, pair) => mentions(key, pair, /\.headers\b(?!\.(raw|join|split|cookie)\()/),
  },
  {
    message:
      '`proxy.gateway`, `proxy.listener`, `proxy.route` and `source.identity` are strings here and objects in agentgateway',
    hint: 'compare them without a field: `proxy.route == …` instead of `proxy.route.name == …`',
    concerns: (key, pair) =>
      mentions(key, pair, /\b(proxy\.(gateway|listener|route)|source\.identity)\b/),
  },
]

const FILE_KEYS = new Set(['file', 'cert', 'key', 'root', 'ca', 'htpasswd'])

/** The differences in meaning of a file: each is reported once, at its first place. */
export function agentgatewayDifferences(text: string, file: string): readonly Diagnostic[] {
  const counter = new LineCounter()
  const document = parseDocument(text, { lineCounter: counter })
  if (document.errors.length > 0) return []
  const places = new Map<Difference, number[]>()
  visit(document, {
    Pair: (_, pair) => {
      if (!isScalar(pair.key)) return
      const at = pair.key.range?.[0] ?? 0
      for (const difference of DIFFERENCES) {
        if (!difference.concerns(String(pair.key.value), pair)) continue
        places.set(difference, [...(places.get(difference) ?? []), at])
      }
    },
  })
  return DIFFERENCES.flatMap((difference) => {
    const [first, ...more] = places.get(difference) ?? []
    if (first === undefined) return []
    const { line, col } = counter.linePos(first)
    const others =
      more.length === 0
        ? ''
        : ` (also in ${more.length} other ${more.length === 1 ? 'place' : 'places'})`
    return {
      code: 'PC0224',
      severity: 'info',
      message: `${difference.message}${others}`,
      origin: { kind: 'file', file, line, column: col },
      hint: difference.hint,
    }
  })
}

function isRelativePath(value: unknown): boolean {
  return typeof value === 'string' && /^[^/\s{}$][^\s{}]*\.\w+$/.test(value)
}

/** Whether the key has an expression, directly or below it, that matches the pattern. */
function mentions(key: string, { value }: Pair, pattern: RegExp): boolean {
  if (isScalar(value)) return EXPRESSIONS.has(key) && pattern.test(String(value.value))
  if (!EXPRESSIONS.has(key)) return false
  let isFound = false
  visit(value as Parameters<typeof visit>[0], {
    Scalar: (_, scalar) => {
      if (typeof scalar.value !== 'string' || !pattern.test(scalar.value)) return undefined
      isFound = true
      return visit.BREAK
    },
  })
  return isFound
}
