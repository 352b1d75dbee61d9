import type { Call, Expr } from '../syntax/ast.ts'
import { qualifiedName } from '../syntax/grammar.ts'
import { pathOf } from './path.ts'
import type { Term } from './term.ts'
import type { Type } from './types.ts'

/** Hints for names that other languages use. */

const WORDS: ReadonlyMap<string, string> = new Map([
  ['true', 'use true'],
  ['false', 'use false'],
  ...['null', 'none', 'nil', 'undefined'].map(
    (word) => [word, 'use null, or test for presence with has(x.y)'] as const,
  ),
  ['now', 'use request.startTime for the time of the request'],
])

/**
 * A hint for a bare name that is neither a variable nor similar to one: a constant of another
 * language, or a string without quotes.
 */
export function wordHint(name: string): string {
  return WORDS.get(name.toLowerCase()) ?? `put strings in quotes: '${name}'`
}

const FUNCTIONS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "use 'x' in list, or text.contains('x')": 'includes has containsElement',
    'use list.exists(x, x == …)': 'any some exists anyMatch',
    'use list.all(x, x == …)': 'every all forAll allMatch',
    'use list.filter(x, x == …)': 'filter where',
    'use list.map(x, x + …)': 'map',
    'use map.filterKeys(k, k == …)': 'filterKeys',
    'use map.mapValues(v, …)': 'mapValues',
    'use map.transformMap(k, v, …)': 'transformMap',
    'use list.transformList(i, x, …)': 'transformList',
    'use value.with(x, …)': 'with',
    'use cel.bind(x, value, …)': 'bind',
    'use list.sortBy(x, …)': 'sortBy',
    'use size(x)': 'len length count',
    "use text.startsWith('…')": 'hasPrefix beginsWith',
    "use text.endsWith('…')": 'hasSuffix',
    "use text.matches('…')": 'match regex regexMatch test like',
    'use text.lowerAscii()': 'lower toLower toLowerCase lowercase',
    'use text.upperAscii()': 'upper toUpper toUpperCase uppercase',
    'use request.startTime for the time of the request': 'now',
    "use map['key'], or map[?'key'].orValue('…')": 'get getOrDefault headers header',
    'use string(x)': 'str toString',
    'use int(x)': 'parseInt toInt Number',
    'use text.substring(start, end)': 'substr slice',
    'use text.replace(old, new), which replaces all occurrences': 'replaceAll gsub',
    'use ==': 'equals eq isEqual',
    "use x == '' or size(x) == 0": 'isEmpty empty',
    "for a default, use jwt.?team.orValue('none')": 'orDefault orElse ifNull nvl',
    'use semver(text), or semver(text, true) for versions such as v1.2': 'version parseVersion',
    "use quantity('1Gi')": 'parseQuantity bytesize',
    'use url(text)': 'uri parseUrl parseUri',
  }).flatMap(([hint, names]) => names.split(' ').map((name) => [name.toLowerCase(), hint])),
)

export function functionHint(name: string): string | undefined {
  return FUNCTIONS.get(name.toLowerCase())
}

/** Calls whose arguments declare variables; errors in the arguments are not reported separately. */
const LOOPS = new Set(
  (
    'any some every forall exists all filter where map anymatch allmatch exists_one ' +
    'filterkeys mapvalues transformmap transformlist with bind sortby'
  ).split(' '),
)

/** Called as a method, or as a function whose first argument is the list: `exists(list, x, …)`. */
export function isLikeMacro({ name, target, args }: Call): boolean {
  return (target !== undefined || args.length > 1) && LOOPS.has(name.toLowerCase())
}

/** A hint for a call that this type supports under another name, or not at all. */
export function receiverHint(name: string, receiver: Term | undefined): string | undefined {
  if (receiver?.type.kind === 'cidr' && name === 'contains') {
    return 'use range.containsIP(address) or range.containsCIDR(range)'
  }
  if (receiver?.type.kind === 'bytes' && TEXTUAL.has(name)) {
    return `convert it to a string: string(${pathOf(receiver) ?? 'x'}).${name}(…)`
  }
  if (receiver?.type.kind === 'ip') return rangeHint(receiver)
  return receiver === undefined ? undefined : kubernetesHint(name, receiver)
}

const URL_METHODS = new Set(
  'getScheme getHost getHostname getPort getEscapedPath getQuery'.split(' '),
)
const COMPARISONS = new Set(['isLessThan', 'isGreaterThan', 'compareTo'])

/** A hint for Kubernetes functions called on strings, or for operators used on Kubernetes types. */
function kubernetesHint(name: string, receiver: Term): string | undefined {
  const { kind } = receiver.type
  if (kind === 'string') {
    const path = pathOf(receiver) ?? 'x'
    if (URL_METHODS.has(name)) return `use url(${path}).${name}()`
    return COMPARISONS.has(name) ? `use semver(${path}) or quantity(${path})` : undefined
  }
  if (kind !== 'semver' && kind !== 'quantity') return undefined
  if (['<', '<=', '>', '>='].includes(name)) return 'use a.isLessThan(b) or a.compareTo(b) <= 0'
  return kind === 'quantity' && ['+', '-'].includes(name) ? 'use a.add(b) or a.sub(b)' : undefined
}

/** Types whose values come from a function of the same name, never from JSON. */
const MADE: ReadonlySet<string> = new Set(['url', 'semver', 'quantity'])

/** `jwt.version == semver('1.2.3')`: both sides must come from the same function. */
export function madeHint(sides: readonly Term[]): string | undefined {
  const made = sides.find(({ type }) => MADE.has(type.kind))
  const other = sides.find(({ type }) => !MADE.has(type.kind))
  if (made === undefined || other === undefined) return undefined
  return `use ${made.type.kind}(${pathOf(other) ?? 'x'})`
}

/** JSON values never have one of these types. */
export function isMadeOfJson(a: Type, b: Type): boolean {
  return a.kind === 'json' && MADE.has(b.kind)
}

const TEXTUAL = new Set(['contains', 'startsWith', 'endsWith', 'matches', 'split', 'indexOf'])

/** How to test whether an address is in a range. */
export function rangeHint(address: Term, range = '10.0.0.0/8'): string {
  return `test the range with cidr('${range}').containsIP(${pathOf(address) ?? 'source.address'})`
}

/** A hint for `operand.field` if the operand has no fields. */
export function fieldHint(operand: Term, field: string): string | undefined {
  if (['size', 'length', 'len', 'count'].includes(field.toLowerCase())) return 'use size(x)'
  const path = pathOf(operand)
  if (path === 'request.query') return `use request.uri.query('${field}') for query parameters`
  const isText = operand.type.kind === 'bytes' || operand.type.kind === 'string'
  return isText ? `if it is JSON, use json(${path ?? 'x'}).${field}` : undefined
}

/** A hint for `x == 'true'` if x is a bool. */
export function boolHint(sides: readonly Term[]): string | undefined {
  const text = sides.find((side) => side.kind === 'constant' && typeof side.value === 'string')
  const isBool = sides.some((side) => side.type.kind === 'bool')
  const word = text?.kind === 'constant' ? String(text.value).toLowerCase() : ''
  return isBool && (word === 'true' || word === 'false') ? `use ${word} without quotes` : undefined
}

/** `request.headers.x-internal` parses as a subtraction; returns the intended name. */
export function hyphenated(call: Call): { readonly last: Expr; readonly hint: string } | undefined {
  const spelled = spell(call)
  if (spelled === undefined || call.name !== '_-_') return undefined
  const { operand, name, last } = spelled
  const written = operand === '' ? `'${name}'` : `${operand}['${name}']`
  return { last, hint: `use ${written} for a name with a hyphen` }
}

interface Spelled {
  readonly operand: string
  readonly name: string
  readonly last: Expr
}

function spell(expr: Expr): Spelled | undefined {
  if (expr.kind === 'ident') return { operand: '', name: expr.name, last: expr }
  if (expr.kind === 'select') {
    const operand = qualifiedName(expr.operand)
    return operand === '' ? undefined : { operand, name: expr.field, last: expr }
  }
  if (expr.kind !== 'call' || expr.name !== '_-_') return undefined
  const [left, right] = expr.args
  // Only the hyphen is between the two.
  if (left === undefined || right?.kind !== 'ident' || right.start - left.end !== 1) {
    return undefined
  }
  const start = spell(left)
  return start && { ...start, name: `${start.name}-${right.name}`, last: right }
}

export function article(type: string): string {
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`
}
