import type { LoopTerm, OptMapTerm, Term } from '../check/term.ts'
import { isKnown } from '../check/trusted-types.ts'
import { isPlainObject } from '../values/kind.ts'
import { CelMap } from '../values/map.ts'
import { Optional } from '../values/optional.ts'
import { Struct } from '../values/struct.ts'
import type { Value } from '../values/value.ts'
import type { Frame, Run, Variables } from './functions.ts'
import { isProperty } from './inline.ts'
import * as runtime from './runtime.ts'

/** The error of reading something that is missing. */
export const ABSENT: unique symbol = Symbol('absent')

type Traced = Value | undefined | typeof ABSENT
type Trace = (variables: Variables, frame: Frame) => Traced

/** Whether the term can fail only because what it reads is missing: one evaluation is enough. */
export function isAbsenceAlone(term: Term): boolean {
  if (term.kind === 'variable') return true
  if (term.kind !== 'field' || term.access !== 'get' || !isKnown(term.operand)) return false
  const { kind } = term.operand.type
  return (kind === 'struct' || kind === 'map') && isAbsenceAlone(term.operand)
}

/**
 * The value as the other functions compute it, but the one error that `default` forgives is
 * distinguished from all others. Only `default` needs this: elsewhere an error has no reason. Each
 * part runs once, so that one `default` inside another costs twice as much, not a power of two.
 */
export function trace(term: Term, value: (term: Term) => Run): Trace {
  const traced = (inner: Term) => trace(inner, value)
  switch (term.kind) {
    case 'constant':
    case 'invalid':
    case 'local':
      return value(term)
    case 'variable': {
      const read = value(term)
      return (c, f) => {
        const v = read(c, f)
        return v === undefined ? ABSENT : v
      }
    }
    case 'field': {
      const { operand, field, access } = term
      const isHost = operand.type.kind === 'struct' && isKnown(operand)
      const isDirect = isProperty(operand, field)
      return after([traced(operand)], ([owner]) => {
        if (access === 'test') return runtime.testField(owner, field)
        if (access === 'optional') return runtime.optField(owner, field)
        const found = isDirect ? propertyOf(owner, field) : runtime.getField(owner, field)
        return found === undefined && (isHost || hasMembers(owner)) ? ABSENT : found
      })
    }
    case 'index': {
      const get = term.optional ? runtime.optIndex : runtime.getIndex
      return after([traced(term.operand), traced(term.index)], ([owner, key]) => {
        const found = get(owner, key)
        return found === undefined && !term.optional && hasMembers(owner) ? ABSENT : found
      })
    }
    case 'equal':
      return after(
        [traced(term.left), traced(term.right)],
        ([a, b]) => runtime.equals(a as Value, b as Value) !== term.negated,
      )
    case 'member':
      return after([traced(term.element), traced(term.container)], ([element, container]) =>
        runtime.isMember(element, container),
      )
    case 'call':
      return after(term.args.map(traced), (values) => runtime.call(term.overloads, ...values))
    case 'not':
      return after([traced(term.operand)], ([v]) => (typeof v === 'boolean' ? !v : undefined))
    case 'and':
    case 'or':
      return logic(traced(term.left), traced(term.right), term.kind === 'or')
    case 'conditional': {
      const condition = traced(term.condition)
      const [whenTrue, whenFalse] = [traced(term.whenTrue), traced(term.whenFalse)]
      return (c, f) => {
        const v = condition(c, f)
        if (v === true) return whenTrue(c, f)
        return v === false ? whenFalse(c, f) : v === ABSENT ? ABSENT : undefined
      }
    }
    case 'list': {
      const optional = term.elements.map((element) => element.optional)
      const elements = term.elements.map((element) => traced(element.value))
      return after(elements, (values) => runtime.makeList(values, optional))
    }
    case 'map': {
      const optional = term.entries.map((entry) => entry.optional)
      const parts = term.entries.flatMap((entry) => [traced(entry.key), traced(entry.value)])
      return after(parts, (values) => runtime.makeMap(values, optional))
    }
    case 'loop':
      return loop(term, traced(term.range), value)
    case 'bind': {
      const [bound, body] = [traced(term.value), traced(term.body)]
      const { slot } = term.local
      return (c, f) => {
        const v = bound(c, f)
        if (term.strict && isError(v)) return v
        f[slot] = isError(v) ? undefined : v
        const result = body(c, f)
        return isError(result) && isError(v) ? v : result
      }
    }
    case 'optMap':
      return optMap(term, traced(term.target), traced(term.body))
    case 'fallback': {
      const [target, other] = [traced(term.optional), traced(term.other)]
      const { unwraps } = term
      return (c, f) => {
        const optional = target(c, f)
        if (isError(optional)) return optional
        if (!(optional instanceof Optional)) return undefined
        if (optional.value !== undefined) return unwraps ? optional.value : optional
        const instead = other(c, f)
        return unwraps || isError(instead) ? instead : runtime.flat(instead)
      }
    }
    case 'coalesce':
      return coalesce(term.choices.map(traced), term.onlyMissing)
  }
}

function isError(v: Traced): v is undefined | typeof ABSENT {
  return v === undefined || v === ABSENT
}

/** Whether reading a missing name from this value means that the name is absent. */
function hasMembers(value: Value | undefined): boolean {
  if (value === undefined || value === null) return false
  return isPlainObject(value) || value instanceof CelMap || value instanceof Struct
}

function propertyOf(owner: Value | undefined, field: string): Value | undefined {
  return (owner as { readonly [name: string]: Value | undefined } | null | undefined)?.[field]
}

/** Applies `compute` to the values of the parts; the first error among them becomes the result. */
function after(parts: readonly Trace[], compute: (values: readonly Value[]) => Traced): Trace {
  return (c, f) => {
    const values = parts.map((part) => part(c, f))
    const error = values.find(isError)
    if (error === ABSENT) return ABSENT
    return values.includes(undefined) ? undefined : compute(values as Value[])
  }
}

function logic(left: Trace, right: Trace, decisive: boolean): Trace {
  return (c, f) => {
    const a = left(c, f)
    if (a === decisive) return decisive
    const b = right(c, f)
    if (b === decisive) return decisive
    if (isError(a)) return a
    if (isError(b)) return b
    return a === !decisive && b === !decisive ? !decisive : undefined
  }
}

/** Anything missing inside an iteration is an ordinary error of the macro. */
function loop(term: LoopTerm, range: Trace, value: (term: Term) => Run): Trace {
  // No other local has this slot: the slots of the expression count from 0.
  const slot = -1 - term.first.slot
  const run = value({ ...term, range: { ...term.first, slot } })
  return (c, f) => {
    const over = range(c, f)
    if (isError(over)) return over
    f[slot] = over
    return run(c, f)
  }
}

function optMap(term: OptMapTerm, target: Trace, body: Trace): Trace {
  const wrap = term.flat ? runtime.flat : runtime.some
  return (c, f) => {
    const optional = target(c, f)
    if (isError(optional)) return optional
    if (!(optional instanceof Optional)) return undefined
    if (optional.value === undefined) return Optional.none
    f[term.local.slot] = optional.value
    const result = body(c, f)
    return isError(result) ? result : wrap(result)
  }
}

function coalesce(choices: readonly Trace[], onlyMissing: boolean): Trace {
  return (c, f) => {
    let isNull = false
    let last: Traced
    for (const choice of choices) {
      last = choice(c, f)
      if (!isError(last) && last !== null) return last
      if (onlyMissing && last === undefined) return undefined
      isNull ||= last === null
    }
    return isNull && (!onlyMissing || last === null) ? null : last
  }
}
