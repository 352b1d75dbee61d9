import type {
  BindTerm,
  CallTerm,
  CoalesceTerm,
  EqualTerm,
  FallbackTerm,
  MemberTerm,
  OptMapTerm,
  Term,
} from '../check/term.ts'
import * as operators from '../library/operators.ts'
import { counted, fuel } from '../values/fuel.ts'
import { Optional } from '../values/optional.ts'
import type { Value } from '../values/value.ts'
import { loopTruth, loopValue } from './closure-loops.ts'
import type { Evaluate, Frame, Maybe, Predicate, Run, Test, Variables } from './functions.ts'
import { isIdentity, isPlainName, isProperty, memberSet } from './inline.ts'
import { operatorOf } from './operator-table.ts'
import * as runtime from './runtime.ts'
import { ABSENT, trace } from './trace.ts'

/**
 * The back end for processes that may not generate code: one function per term. It has the same
 * three writers as ./source.ts, but they return functions instead of source text.
 */
export function closePredicate(term: Term, budget: number, metered: boolean): Predicate {
  const test = truth(term)
  if (!metered) return (variables) => test(variables, [])
  return (variables) => {
    const isTrue = counted(variables, budget, () => test(variables, []))
    return isTrue && fuel.left >= 0
  }
}

export function closeEvaluate(term: Term, budget: number, metered: boolean): Evaluate {
  const run = value(term)
  if (!metered) return (variables) => run(variables, [])
  return (variables) => {
    const result = counted(variables, budget, () => run(variables, []))
    return fuel.left < 0 ? undefined : result
  }
}

/** Tests whether the term is an error because what it reads is missing. Takes locals by slot. */
export function closeAbsence(term: Term, slots: readonly number[]) {
  const run = trace(term, value)
  return (variables: Variables, ...locals: readonly Maybe[]): boolean => {
    const frame: Frame = []
    for (const [i, slot] of slots.entries()) frame[slot] = locals[i]
    return run(variables, frame) === ABSENT
  }
}

function value(term: Term): Run {
  switch (term.kind) {
    case 'constant': {
      const constant = term.value
      return () => constant
    }
    case 'invalid':
      return () => undefined
    case 'variable': {
      const { name } = term
      return isPlainName(name) ? (c) => c[name] : (c) => runtime.own(c, name)
    }
    case 'local': {
      const { slot } = term
      return (_, f) => f[slot]
    }
    case 'field': {
      const operand = value(term.operand)
      const { field } = term
      if (term.access === 'test') return (c, f) => runtime.testField(operand(c, f), field)
      if (term.access === 'optional') return (c, f) => runtime.optField(operand(c, f), field)
      if (isProperty(term.operand, field)) return property(operand, field)
      return (c, f) => runtime.getField(operand(c, f), field)
    }
    case 'index': {
      const [operand, index] = [value(term.operand), value(term.index)]
      if (term.optional) return (c, f) => runtime.optIndex(operand(c, f), index(c, f))
      return (c, f) => runtime.getIndex(operand(c, f), index(c, f))
    }
    case 'equal':
      return equalValue(term)
    case 'member':
      return memberValue(term)
    case 'call':
      return callValue(term)
    case 'and':
    case 'or':
      return logicValue(value(term.left), value(term.right), term.kind === 'or')
    case 'not': {
      const operand = value(term.operand)
      return (c, f) => {
        const v = operand(c, f)
        return v === true ? false : v === false ? true : undefined
      }
    }
    case 'conditional': {
      const [condition, whenTrue, whenFalse] = [term.condition, term.whenTrue, term.whenFalse].map(
        value,
      ) as [Run, Run, Run]
      return (c, f) => {
        const v = condition(c, f)
        return v === true ? whenTrue(c, f) : v === false ? whenFalse(c, f) : undefined
      }
    }
    case 'list': {
      const elements = term.elements.map((element) => value(element.value))
      const optional = term.elements.map((element) => element.optional)
      return (c, f) =>
        runtime.makeList(
          elements.map((run) => run(c, f)),
          optional,
        )
    }
    case 'map': {
      const parts = term.entries.flatMap((entry) => [value(entry.key), value(entry.value)])
      const optional = term.entries.map((entry) => entry.optional)
      return (c, f) =>
        runtime.makeMap(
          parts.map((run) => run(c, f)),
          optional,
        )
    }
    case 'loop':
      return loopValue(term, value)
    case 'bind':
      return bindValue(term)
    case 'optMap':
      return optMapValue(term)
    case 'fallback':
      return fallbackValue(term)
    case 'coalesce':
      return term.onlyMissing ? defaultValue(term) : coalesceValue(term)
  }
}

function truth(term: Term): Test {
  switch (term.kind) {
    case 'and': {
      const [left, right] = [truth(term.left), truth(term.right)]
      return (c, f) => left(c, f) && right(c, f)
    }
    case 'or': {
      const [left, right] = [truth(term.left), truth(term.right)]
      return (c, f) => left(c, f) || right(c, f)
    }
    case 'not':
      return falsity(term.operand)
    case 'loop':
      if (term.macro === 'all' || term.macro === 'exists')
        return loopTruth(term, true, truth, falsity, value)
      return is(value(term), true)
    default:
      return is(value(term), true)
  }
}

function falsity(term: Term): Test {
  switch (term.kind) {
    case 'and': {
      const [left, right] = [falsity(term.left), falsity(term.right)]
      return (c, f) => left(c, f) || right(c, f)
    }
    case 'or': {
      const [left, right] = [falsity(term.left), falsity(term.right)]
      return (c, f) => left(c, f) && right(c, f)
    }
    case 'not':
      return truth(term.operand)
    case 'loop':
      if (term.macro === 'all' || term.macro === 'exists')
        return loopTruth(term, false, truth, falsity, value)
      return is(value(term), false)
    default:
      return is(value(term), false)
  }
}

function is(run: Run, wanted: boolean): Test {
  return (c, f) => run(c, f) === wanted
}

/** A declared field of a host object, or a member of a JSON value. */
function property(operand: Run, field: string): Run {
  return (c, f) => {
    const v = operand(c, f) as { readonly [name: string]: Value } | undefined
    return v?.[field]
  }
}

function logicValue(left: Run, right: Run, decisive: boolean): Run {
  return (c, f) => {
    const a = left(c, f)
    if (a === decisive) return decisive
    const b = right(c, f)
    if (b === decisive) return decisive
    return a === !decisive && b === !decisive ? !decisive : undefined
  }
}

function equalValue({ left, right, negated }: EqualTerm): Run {
  const [a, b] = [value(left), value(right)]
  if (right.kind === 'constant' && isIdentity(right.value, left)) {
    const constant = right.value
    return (c, f) => {
      const v = a(c, f)
      return v === undefined ? undefined : (v === constant) !== negated
    }
  }
  return (c, f) => {
    const equal = runtime.isEqual(a(c, f), b(c, f))
    return equal === undefined ? undefined : equal !== negated
  }
}

function memberValue({ element, container }: MemberTerm): Run {
  const [a, b] = [value(element), value(container)]
  const set = memberSet(element, container)
  if (set === undefined) return (c, f) => runtime.isMember(a(c, f), b(c, f))
  return (c, f) => {
    const v = a(c, f)
    return v === undefined ? undefined : set.has(v)
  }
}

const TEXT_TESTS: Readonly<Record<string, (text: string, part: string) => boolean>> = {
  startsWith: runtime.beginsWith,
  endsWith: runtime.finishesWith,
  contains: runtime.holdsText,
}

/** `text.startsWith(part)` and similar, for any static type, if only strings have the method. */
function textValue({ name, args, overloads }: CallTerm): Run | undefined {
  const [receiver, argument] = args
  if (overloads.length > 1 || overloads[0]?.params[0]?.kind !== 'string') return undefined
  const test = Object.hasOwn(TEXT_TESTS, name) ? TEXT_TESTS[name] : undefined
  if (test === undefined || receiver === undefined || argument === undefined) return undefined
  const [text, part] = [value(receiver), value(argument)]
  return (c, f) => {
    const a = text(c, f)
    const b = part(c, f)
    return typeof a === 'string' && typeof b === 'string' ? test(a, b) : undefined
  }
}

const OPERATORS = operators as unknown as Record<string, (...args: Value[]) => Maybe>

function callValue(term: CallTerm): Run {
  const { overloads } = term
  const inPlace = textValue(term)
  if (inPlace !== undefined) return inPlace
  const operator = operatorOf(term)
  const own = operator === undefined ? undefined : OPERATORS[operator]
  const target = own ?? (term.exact ? (term.prepared ?? overloads[0]?.call) : undefined)
  const args = term.args.map(value)
  if (target === undefined)
    return (c, f) => runtime.call(overloads, ...args.map((run) => run(c, f)))
  const [first, second] = args
  if (args.length === 1 && first !== undefined) {
    return (c, f) => {
      const a = first(c, f)
      return a === undefined ? undefined : target(a)
    }
  }
  if (args.length === 2 && first !== undefined && second !== undefined) {
    return (c, f) => {
      const a = first(c, f)
      if (a === undefined) return undefined
      const b = second(c, f)
      return b === undefined ? undefined : target(a, b)
    }
  }
  return (c, f) => {
    const values = args.map((run) => run(c, f))
    return values.includes(undefined) ? undefined : target(...(values as Value[]))
  }
}

function bindValue(term: BindTerm): Run {
  const [bound, body] = [value(term.value), value(term.body)]
  const { slot } = term.local
  const { strict } = term
  return (c, f) => {
    const v = bound(c, f)
    if (strict && v === undefined) return undefined
    f[slot] = v
    return body(c, f)
  }
}

function optMapValue(term: OptMapTerm): Run {
  const [target, body] = [value(term.target), value(term.body)]
  const { slot } = term.local
  const wrap = term.flat ? runtime.flat : runtime.some
  return (c, f) => {
    const optional = target(c, f)
    if (!(optional instanceof Optional)) return undefined
    if (optional.value === undefined) return Optional.none
    f[slot] = optional.value
    return wrap(body(c, f))
  }
}

function fallbackValue(term: FallbackTerm): Run {
  const [target, other] = [value(term.optional), value(term.other)]
  const { unwraps } = term
  return (c, f) => {
    const optional = target(c, f)
    if (!(optional instanceof Optional)) return undefined
    if (optional.value !== undefined) return unwraps ? optional.value : optional
    const instead = other(c, f)
    return unwraps ? instead : runtime.flat(instead)
  }
}

function coalesceValue(term: CoalesceTerm): Run {
  const choices = term.choices.map(value)
  return (c, f) => {
    let isNull = false
    for (const choice of choices) {
      const v = choice(c, f)
      if (v !== undefined && v !== null) return v
      isNull ||= v === null
    }
    return isNull ? null : undefined
  }
}

function defaultValue(term: CoalesceTerm): Run {
  const [wanted, other] = term.choices as [Term, Term]
  const [first, instead] = [trace(wanted, value), value(other)]
  return (c, f) => {
    const v = first(c, f)
    return v === null || v === ABSENT ? instead(c, f) : v
  }
}
