import { nearest } from '../../diagnostics/nearest.ts'
import type { Overload, Prepared } from '../library/define.ts'
import { dispatch } from '../library/dispatch.ts'
import type { Call } from '../syntax/ast.ts'
import { ONLY_MAP } from '../syntax/macros.ts'
import { failure } from '../values/failure.ts'
import { show } from '../values/show.ts'
import type { Value } from '../values/value.ts'
import type { Checker } from './check.ts'
import { candidates, type Declared } from './environment.ts'
import { functionHint, isLikeMacro, receiverHint } from './hints.ts'
import { type CallTerm, invalid, type Term } from './term.ts'
import { isKnown } from './trusted-types.ts'
import { DYN, isDynamic, type Type } from './types.ts'
import { showType } from './unify.ts'

/** Checks a function or method call: picks overloads by static types, evaluates constant calls. */
export function checkCall(checker: Checker, call: Call): Term {
  const found = findFunction(checker, call)
  if (found.overloads.length === 0 && isLikeMacro(call)) {
    reportMismatch(checker, call, [], [])
    return invalid(`no such function ${call.name}`, call)
  }
  const args = found.args.map((arg) => checker.check(arg))
  const fitting = found.overloads.filter((overload) => takes(overload, args.length))
  const { overloads, result } = match(checker, fitting, args)
  if (overloads.length === 0) {
    reportMismatch(checker, call, found.overloads, args)
    if (fitting.length === 0) return invalid(`no such function ${shownName(call.name)}`, call)
  }
  const used = overloads.length > 0 ? overloads : fitting
  const exact = used.length === 1 && isExact(checker, used[0] as Overload, args)
  const term: CallTerm = {
    kind: 'call',
    name: found.name,
    args,
    overloads: used,
    exact,
    prepared: prepare(checker, call, used, args),
    type: result,
    start: call.start,
    end: call.end,
  }
  return lazy(checker, evaluated(checker, term))
}

/** A fallback is evaluated only if the value is absent, like a branch of `?:`. */
function lazy(checker: Checker, term: Term): Term {
  if (term.kind !== 'call') return term
  if (term.name === 'default' || term.name === 'coalesce') return coalesce(checker, term)
  if (term.name === 'cookie') return cookieAt(checker, term)
  if (term.name !== 'or' && term.name !== 'orValue') return term
  const [optional, other] = term.args
  if (optional === undefined || other === undefined) return term
  const { type, start, end } = term
  return { kind: 'fallback', optional, other, unwraps: term.name === 'orValue', type, start, end }
}

/** A missing cookie is absent like a missing map key, so `default` applies to it. */
function cookieAt(checker: Checker, term: CallTerm): Term {
  const [headers, index] = term.args
  const overloads = checker.environment.functions.get('@cookies')?.globals ?? []
  const [overload] = overloads
  if (headers === undefined || index === undefined || overload === undefined) return term
  const exact = isExact(checker, overload, [headers])
  const { start, end, type } = term
  const operand: CallTerm = {
    ...{ kind: 'call', name: '@cookies', args: [headers], overloads, exact, prepared: undefined },
    ...{ type: overload.result, start: headers.start, end: headers.end },
  }
  return { kind: 'index', operand, index, optional: false, type, start, end }
}

function coalesce(checker: Checker, { name, args, start, end }: CallTerm): Term {
  const type = args
    .map((arg) => arg.type)
    .reduce((joined, own) => (joined.kind === 'null' ? own : checker.types.join(joined, own)))
  const onlyMissing = name === 'default'
  return { kind: 'coalesce', choices: args, onlyMissing, type, start, end }
}

interface Found {
  readonly name: string
  readonly overloads: readonly Overload[]
  readonly args: readonly Call['args'][number][]
}

/** `math.greatest(a)` calls a function with that name; any other `a.b(c)` calls a method. */
function findFunction(checker: Checker, call: Call): Found {
  const { functions, container } = checker.environment
  const { target, args, name } = call
  const space = target === undefined ? undefined : checker.spelled(target)
  if (target === undefined || space !== undefined) {
    const spelled = space === undefined ? name : `${space}.${name}`
    for (const candidate of candidates(container, spelled)) {
      const globals = functions.get(candidate)?.globals
      if (globals !== undefined && globals.length > 0)
        return { name: candidate, overloads: globals, args }
    }
  }
  if (target === undefined) return { name, overloads: [], args }
  return { name, overloads: functions.get(name)?.methods ?? [], args: [target, ...args] }
}

function takes(overload: Overload, count: number): boolean {
  return overload.variadic ? count >= overload.params.length : count === overload.params.length
}

function paramAt(params: readonly Type[], i: number): Type {
  return params[Math.min(i, params.length - 1)] as Type
}

function match(checker: Checker, fitting: readonly Overload[], args: readonly Term[]) {
  if (!checker.strict) return { overloads: fitting, result: DYN }
  const { types } = checker
  const overloads: Overload[] = []
  let result: Type | undefined
  for (const overload of fitting) {
    const [own, ...params] = types.instantiate([overload.result, ...overload.params]) as [
      Type,
      ...Type[],
    ]
    const fits = types.tentatively(() =>
      args.every((arg, i) => types.assignable(arg.type, paramAt(params, i))),
    )
    if (!fits) continue
    overloads.push(overload)
    const substituted = types.substituted(own)
    result = result === undefined ? substituted : sameOrDyn(result, substituted)
  }
  return { overloads, result: result ?? DYN }
}

function sameOrDyn(a: Type, b: Type): Type {
  return a === b || showType(a) === showType(b) ? a : DYN
}

/** dyn arguments, and null for a timestamp, require a check of the value before the call. */
function isExact(checker: Checker, overload: Overload, args: readonly Term[]): boolean {
  return args.every((arg, i) => {
    const param = paramAt(overload.params, i)
    if (isDynamic(param) || param.kind === 'param') return true
    return checker.types.shallow(arg.type).kind === param.kind && isKnown(arg)
  })
}

function prepare(
  checker: Checker,
  call: Call,
  overloads: readonly Overload[],
  args: readonly Term[],
): Prepared | undefined {
  const own = overloads.find((overload) => overload.prepare !== undefined)
  if (own?.prepare === undefined || overloads.length !== 1) return undefined
  const constants = args.map((arg) => (arg.kind === 'constant' ? arg.value : undefined))
  if (constants.every((constant) => constant === undefined)) return undefined
  failure.reason = ''
  const prepared = own.prepare(constants)
  if (failure.reason !== '') reportConstant(checker, call)
  return prepared
}

/** Constructors: an invalid constant argument is reported at compile time, not at run time. */
const CONSTRUCTORS = new Set(['ip', 'cidr', 'timestamp', 'duration', 'semver', 'quantity'])

function evaluated(checker: Checker, term: CallTerm): Term {
  const values: Value[] = []
  for (const arg of term.args) {
    if (arg.kind !== 'constant') return term
    values.push(arg.value)
  }
  if (term.overloads.some((overload) => overload.metered || overload.impure)) return term
  failure.reason = ''
  const value = dispatch(term.overloads, values)
  if (value !== undefined) {
    return { kind: 'constant', value, type: term.type, start: term.start, end: term.end }
  }
  if (CONSTRUCTORS.has(term.name)) reportConstant(checker, term)
  return term
}

function reportConstant(checker: Checker, at: { start: number; end: number }): void {
  const detail =
    failure.detail === undefined
      ? ''
      : `: ${typeof failure.detail === 'string' ? failure.detail : show(failure.detail as Value)}`
  checker.report('PC0112', at, `${failure.reason}${detail}`)
}

function reportMismatch(
  checker: Checker,
  call: Call,
  overloads: readonly Overload[],
  args: readonly Term[],
): void {
  const name = shownName(call.name)
  if (overloads.length === 0) {
    const other = checker.environment.functions.get(call.name)
    const hint = other === undefined ? nearName(checker, call.name) : otherStyle(name, other)
    checker.report('PC0105', call, `unknown function \`${name}\``, hint)
    return
  }
  const given = args.map((arg) => showType(checker.types.resolve(arg.type))).join(', ')
  if (name === ONLY_MAP) {
    const hint = 'for a list, use list.filter(x, …) or list.map(x, …)'
    checker.report('PC0106', call, `a map is required, found ${given}`, hint)
    return
  }
  const shapes = overloads.map((overload) => signature(name, overload))
  const hint =
    receiverHint(name, args[0]) ?? `expected ${[...new Set(shapes)].slice(0, 4).join(' or ')}`
  checker.report('PC0106', call, `\`${name}\` does not accept (${given})`, hint)
}

function nearName(checker: Checker, name: string): string | undefined {
  const near = nearest(name, checker.environment.functions.keys())
  return functionHint(name) ?? (near === undefined ? undefined : `did you mean \`${near}\`?`)
}

/** The function exists, but in the other call style: `size(x)` for `x.size()`. */
function otherStyle(name: string, { globals, methods }: Declared): string | undefined {
  const overload = globals[0] ?? methods[0]
  return overload === undefined ? undefined : `use ${signature(name, overload)}`
}

/** `_+_` is shown as `+`. */
function shownName(name: string): string {
  return name.replace(/^_|_$/g, '')
}

function signature(name: string, overload: Overload): string {
  const params = overload.params.map(showType)
  if (!/^\w/.test(name))
    return params.length === 2 ? `${params[0]} ${name} ${params[1]}` : `${name}${params[0]}`
  if (!overload.receiver) return `${name}(${params.join(', ')})`
  return `${params[0]}.${name}(${params.slice(1).join(', ')})`
}
