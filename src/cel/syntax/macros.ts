import type { Call, Expr, Macro, Span } from './ast.ts'

type Complain = (message: string, at?: Span) => void

/** The node of a macro call, or `undefined` if the call is an ordinary one. */
export function expandMacro(call: Call, complain: Complain): Expr | undefined {
  const { target, args } = call
  if (target === undefined)
    return call.name === 'has' && args.length === 1 ? has(call, complain) : undefined
  if (target.kind === 'ident' && target.name === 'cel') {
    return call.name === 'bind' && args.length === 3 ? bind(call, complain) : undefined
  }
  switch (call.name) {
    case 'all':
    case 'exists':
      return quantifier(call, call.name, complain)
    case 'exists_one':
    case 'existsOne':
      return quantifier(call, 'existsOne', complain)
    case 'map':
      if (args.length === 2) return loop(call, 'map', 1, undefined, args[1], complain)
      return args.length === 3 ? loop(call, 'map', 1, args[1], args[2], complain) : undefined
    case 'filter':
      return args.length === 2 ? loop(call, 'filter', 1, undefined, args[1], complain) : undefined
    case 'transformList':
    case 'transformMap':
    case 'transformMapEntry':
      if (args.length === 3) return loop(call, call.name, 2, undefined, args[2], complain)
      return args.length === 4 ? loop(call, call.name, 2, args[2], args[3], complain) : undefined
    case 'optMap':
    case 'optFlatMap':
      return args.length === 2 ? optMap(call, target, complain) : undefined
    case 'sortBy':
      return args.length === 2 ? sortBy(call, target, complain) : undefined
    case 'with':
      return args.length === 2 ? withValue(call, target, complain) : undefined
    case 'mapValues':
      return args.length === 2 ? mapValues(call, target, complain) : undefined
    case 'filterKeys':
      return args.length === 2 ? filterKeys(call, target, complain) : undefined
    default:
      return undefined
  }
}

function has(call: Call, complain: Complain): Expr | undefined {
  const argument = call.args[0] as Expr
  if (argument.kind !== 'select' || argument.test || argument.optional) {
    const isKey = argument.kind === 'index'
    complain(
      isKey
        ? "has() requires a field, as in has(jwt.group); to test for a map key, use 'group' in jwt"
        : 'has() requires a field, as in has(jwt.group)',
      argument,
    )
    return undefined
  }
  return { ...argument, test: true, start: call.start, end: call.end }
}

function bind(call: Call, complain: Complain): Expr | undefined {
  const [variable, value, body] = call.args as [Expr, Expr, Expr]
  const name = simpleName(variable, complain)
  if (name === undefined) return undefined
  const { start, end } = call
  return { kind: 'bind', name, value, body, strict: false, start, end }
}

/** `x.with(v, body)`: the body with a name for the receiver. */
function withValue(call: Call, target: Expr, complain: Complain): Expr | undefined {
  const [variable, body] = call.args as [Expr, Expr]
  const name = simpleName(variable, complain)
  if (name === undefined) return undefined
  const { start, end } = call
  return { kind: 'bind', name, value: target, body, strict: true, start, end }
}

function quantifier(call: Call, macro: Macro, complain: Complain): Expr | undefined {
  const { length } = call.args
  if (length !== 2 && length !== 3) return undefined
  return loop(call, macro, length - 1, undefined, call.args[length - 1], complain)
}

function loop(
  call: Call,
  macro: Macro,
  variables: number,
  filter: Expr | undefined,
  body: Expr | undefined,
  complain: Complain,
): Expr | undefined {
  const first = simpleName(call.args[0] as Expr, complain)
  const second = variables === 2 ? simpleName(call.args[1] as Expr, complain) : undefined
  if (first === undefined || (variables === 2 && second === undefined)) return undefined
  if (first === second) complain('the two variables must have different names', call.args[1])
  const { start, end } = call
  const range = call.target as Expr
  return {
    kind: 'comprehension',
    macro,
    range,
    first,
    second,
    filter,
    body: body as Expr,
    start,
    end,
  }
}

function optMap(call: Call, target: Expr, complain: Complain): Expr | undefined {
  const name = simpleName(call.args[0] as Expr, complain)
  if (name === undefined) return undefined
  const flat = call.name === 'optFlatMap'
  const { start, end } = call
  return {
    kind: 'optMap',
    target,
    name,
    body: call.args[1] as Expr,
    flat,
    start,
    end,
  }
}

/** A name that users cannot write. */
const SORTED = '@sorted'

/** `list.sortBy(e, key)`: binds the list once and sorts it by the list of its keys. */
function sortBy(call: Call, target: Expr, complain: Complain): Expr | undefined {
  const { start, end } = call
  const list: Expr = {
    kind: 'ident',
    name: SORTED,
    start: target.start,
    end: target.end,
  }
  const keys = loop({ ...call, target: list }, 'map', 1, undefined, call.args[1], complain)
  if (keys === undefined) return undefined
  const body: Expr = { ...call, name: '@sortByKeys', target: undefined, args: [{ ...list }, keys] }
  return { kind: 'bind', name: SORTED, value: target, body, strict: false, start, end }
}

/** The function that filterKeys and mapValues wrap around their map. */
export const ONLY_MAP = '@onlyMap'
const ENTRY_KEY = '@key'
/** The implicit second variable of `filterKeys`. */
export const ENTRY_VALUE = '@value'

/** `map.mapValues(v, expr)`: keeps the keys and maps each value. */
function mapValues(call: Call, target: Expr, complain: Complain): Expr | undefined {
  const [variable, body] = call.args as [Expr, Expr]
  const key: Expr = { kind: 'ident', name: ENTRY_KEY, start: variable.start, end: variable.end }
  return entries(call, target, [key, variable], undefined, body, complain)
}

/** `map.filterKeys(k, test)`: the entries whose key passes the test. */
function filterKeys(call: Call, target: Expr, complain: Complain): Expr | undefined {
  const [variable, test] = call.args as [Expr, Expr]
  const { start, end } = variable
  const value: Expr = { kind: 'ident', name: ENTRY_VALUE, start, end }
  return entries(call, target, [variable, value], test, { ...value }, complain)
}

/** transformMap for maps only: a list has no keys to keep. */
function entries(
  call: Call,
  target: Expr,
  variables: readonly [Expr, Expr],
  filter: Expr | undefined,
  body: Expr,
  complain: Complain,
): Expr | undefined {
  const { start, end } = target
  const map: Expr = {
    kind: 'call',
    name: ONLY_MAP,
    target: undefined,
    args: [target],
    start,
    end,
  }
  const over = { ...call, target: map, args: [...variables] }
  return loop(over, 'transformMap', 2, filter, body, complain)
}

function simpleName(expr: Expr, complain: Complain): string | undefined {
  if (expr.kind === 'ident' && !expr.name.startsWith('.')) return expr.name
  complain('expected a simple variable name', expr)
  return undefined
}
