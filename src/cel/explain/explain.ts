import { pathOf } from '../check/path.ts'
import type { CallTerm, CoalesceTerm, LoopTerm, Term } from '../check/term.ts'
import { isKnown } from '../check/trusted-types.ts'
import type { Variables } from '../emit/functions.ts'
import * as runtime from '../emit/runtime.ts'
import { dispatch } from '../library/dispatch.ts'
import { failure } from '../values/failure.ts'
import { countedApart, fuel, ledgerOf } from '../values/fuel.ts'
import { typeName } from '../values/kind.ts'
import type { Allowance } from '../values/ledger.ts'
import { CelMap } from '../values/map.ts'
import { Optional } from '../values/optional.ts'
import { Struct } from '../values/struct.ts'
import type { Value } from '../values/value.ts'
import { explainLoop } from './explain-loop.ts'
import {
  broken,
  type Cause,
  CUT,
  type Explanation,
  evaluated,
  failed,
  OVER_BOUND,
} from './explanation.ts'

type Maybe = Value | undefined

/**
 * Evaluates everything, including what a short-circuit would skip, and keeps the results. Slow and
 * simple: it runs for denials and in tools, and is the reference for the two fast back ends.
 */
export function explain(
  term: Term,
  variables: Variables,
  budget: number,
  effort?: Allowance,
): Explanation {
  const given = Math.min(budget, effort?.left ?? budget)
  const explainer = new Explainer(variables, given, effort)
  const explanation = countedApart(ledgerOf(variables), given, () => explainer.explain(term))
  if (effort !== undefined) effort.left -= given - Math.max(fuel.left, 0)
  if (fuel.left >= 0) return explanation
  const isCut = explainer.isCut || (given < budget && fuel.reason === '')
  const cause: Cause = isCut
    ? { kind: 'error', reason: CUT, detail: undefined, isCut }
    : fuel.reason === ''
      ? { kind: 'error', reason: OVER_BOUND, detail: budget, isOverBound: true }
      : { kind: 'error', reason: fuel.reason, detail: fuel.detail, isOverBound: true }
  return { ...explanation, value: undefined, cause }
}

/** The cost of explaining one part, in units of fuel. */
const PART = 20

export class Explainer {
  readonly #variables: Variables
  readonly frame: Maybe[] = []
  readonly #effort: Allowance | undefined
  #spare: number
  #isAside = false
  isCut = false

  /** `effort` limits the cost of explaining, besides that of evaluating; unlimited by default. */
  constructor(variables: Variables, spare: number, effort?: Allowance) {
    this.#variables = variables
    this.#spare = spare
    this.#effort = effort
  }

  explain(term: Term): Explanation {
    if (this.#effort !== undefined && (this.#effort.left -= PART) < 0) return this.#cut(term)
    switch (term.kind) {
      case 'constant':
        return evaluated(term, term.value, [])
      case 'invalid':
        return broken(term, term.reason, [])
      case 'variable': {
        const value = this.#variable(term.name)
        return value === undefined ? unset(term, term.name) : evaluated(term, value, [])
      }
      case 'local': {
        const value = this.frame[term.slot]
        return value === undefined
          ? broken(term, `${term.name} is an error`, [])
          : evaluated(term, value, [])
      }
      case 'field':
        return this.#field(term)
      case 'index': {
        const parts = [this.explain(term.operand), this.explain(term.index)]
        const get = term.optional ? runtime.optIndex : runtime.getIndex
        return computed(term, parts, ([operand, index]) => get(operand, index))
      }
      case 'equal': {
        const parts = [this.explain(term.left), this.explain(term.right)]
        return computed(
          term,
          parts,
          ([a, b]) => runtime.equals(a as Value, b as Value) !== term.negated,
        )
      }
      case 'member': {
        const parts = [this.explain(term.element), this.explain(term.container)]
        return computed(term, parts, ([element, container]) => runtime.isMember(element, container))
      }
      case 'call':
        return this.#call(term)
      case 'and':
      case 'or':
        return this.#logic(term, term.kind === 'or')
      case 'not': {
        const operand = this.explain(term.operand)
        if (typeof operand.value === 'boolean') return evaluated(term, !operand.value, [operand])
        return operand.value === undefined
          ? failed(term, [operand])
          : broken(term, 'not a bool', [operand])
      }
      case 'conditional':
        return this.#conditional(term)
      case 'list': {
        const parts = term.elements.map((element) => this.explain(element.value))
        const optional = term.elements.map((element) => element.optional)
        return computed(term, parts, (values) => runtime.makeList(values, optional))
      }
      case 'map': {
        const parts = term.entries.flatMap(({ key, value }) => [
          this.explain(key),
          this.explain(value),
        ])
        const optional = term.entries.map((entry) => entry.optional)
        return computed(term, parts, (values) => runtime.makeMap(values, optional))
      }
      case 'loop':
        return this.#loop(term)
      case 'bind': {
        const bound = this.explain(term.value)
        if (term.strict && bound.value === undefined) return failed(term, [bound])
        this.frame[term.local.slot] = bound.value
        const body = this.explain(term.body)
        return body.value === undefined
          ? failed(term, [bound, body])
          : evaluated(term, body.value, [bound, body])
      }
      case 'optMap':
        return this.#optMap(term)
      case 'fallback':
        return this.#fallback(term)
      case 'coalesce':
        return term.onlyMissing ? this.#default(term) : this.#coalesce(term)
    }
  }

  /** Spends all fuel, so that loops stop. */
  #cut(term: Term): Explanation {
    this.isCut = true
    fuel.left = -1
    return broken(term, CUT, [])
  }

  /** Getters of the host object count; properties that every object inherits do not. */
  #variable(name: string): Maybe {
    const isOwn = Object.hasOwn(this.#variables, name)
    return isOwn || !(name in Object.prototype) ? this.#variables[name] : undefined
  }

  #field(term: Extract<Term, { kind: 'field' }>): Explanation {
    const operand = this.explain(term.operand)
    if (operand.value === undefined) return failed(term, [operand])
    const isHost = term.operand.type.kind === 'struct' && isKnown(term.operand)
    if (term.access === 'test') {
      if (isHost)
        return evaluated(term, hostField(operand.value, term.field) !== undefined, [operand])
      return computed(term, [operand], ([value]) => runtime.testField(value, term.field))
    }
    if (term.access === 'optional') {
      return computed(term, [operand], ([value]) => runtime.optField(value, term.field))
    }
    const value = isHost
      ? hostField(operand.value, term.field)
      : runtime.getField(operand.value, term.field)
    if (value !== undefined) return evaluated(term, value, [operand])
    const path = pathOf(term)
    if (path === undefined) return broken(term, failure.reason, [operand], failure.detail)
    if (isHost) return { ...unset(term, path), parts: [operand] }
    const cause = { kind: 'missing', path, present: membersOf(operand.value) } as const
    return { term, value: undefined, cause, parts: [operand] }
  }

  #call(term: CallTerm): Explanation {
    const parts = term.args.map((arg) => this.explain(arg))
    return computed(term, parts, (values) => dispatch(term.overloads, values as Value[]))
  }

  #logic(term: Extract<Term, { kind: 'and' | 'or' }>, decisive: boolean): Explanation {
    const left = this.explain(term.left)
    const right =
      left.value === decisive
        ? this.aside(() => this.explain(term.right))
        : this.explain(term.right)
    const parts = [left, right]
    if (parts.some((part) => part.value === decisive)) return evaluated(term, decisive, parts)
    if (parts.every((part) => part.value === !decisive)) return evaluated(term, !decisive, parts)
    return parts.some((part) => part.value === undefined)
      ? failed(term, parts)
      : broken(term, 'not a bool', parts)
  }

  /**
   * Parts that a short-circuit skips are charged to a separate budget: the whole expression must
   * not be an error here because of parts that the fast back ends never evaluate.
   */
  aside(run: () => Explanation): Explanation {
    if (this.#isAside) return run()
    const { left } = fuel
    this.#isAside = true
    fuel.left = this.#spare
    const explanation = run()
    this.#spare = fuel.left
    if (!this.isCut) fuel.left = left
    this.#isAside = false
    return this.#spare < 0 ? broken(explanation.term, OVER_BOUND, []) : explanation
  }

  #conditional(term: Extract<Term, { kind: 'conditional' }>): Explanation {
    const condition = this.explain(term.condition)
    if (condition.value === undefined) return failed(term, [condition])
    if (typeof condition.value !== 'boolean') return broken(term, 'not a bool', [condition])
    const branch = this.explain(condition.value ? term.whenTrue : term.whenFalse)
    return branch.value === undefined
      ? failed(term, [condition, branch])
      : evaluated(term, branch.value, [condition, branch])
  }

  #loop(term: LoopTerm): Explanation {
    const range = this.explain(term.range)
    if (range.value === undefined) return failed(term, [range])
    return explainLoop(this, term, range)
  }

  #optMap(term: Extract<Term, { kind: 'optMap' }>): Explanation {
    const target = this.explain(term.target)
    if (target.value === undefined) return failed(term, [target])
    if (!(target.value instanceof Optional)) return broken(term, 'not an optional', [target])
    if (target.value.value === undefined) return evaluated(term, Optional.none, [target])
    this.frame[term.local.slot] = target.value.value
    const body = this.explain(term.body)
    const wrap = term.flat ? runtime.flat : runtime.some
    return computed(term, [target, body], ([, value]) => wrap(value))
  }

  #fallback(term: Extract<Term, { kind: 'fallback' }>): Explanation {
    const target = this.explain(term.optional)
    if (target.value === undefined) return failed(term, [target])
    if (!(target.value instanceof Optional)) return broken(term, 'not an optional', [target])
    const { value } = target.value
    if (value !== undefined) return evaluated(term, term.unwraps ? value : target.value, [target])
    const other = this.explain(term.other)
    return computed(term, [target, other], ([, instead]) =>
      term.unwraps ? instead : runtime.flat(instead),
    )
  }

  #coalesce(term: CoalesceTerm): Explanation {
    const parts: Explanation[] = []
    for (const choice of term.choices) {
      const part = this.explain(choice)
      parts.push(part)
      if (part.value !== undefined && part.value !== null) return evaluated(term, part.value, parts)
    }
    if (parts.some((part) => part.value === null)) return evaluated(term, null, parts)
    return { term, value: undefined, cause: parts.at(-1)?.cause, parts }
  }

  #default(term: CoalesceTerm): Explanation {
    const [wanted, other] = term.choices as [Term, Term]
    const first = this.explain(wanted)
    if (first.value !== undefined && first.value !== null)
      return evaluated(term, first.value, [first])
    if (first.value === undefined && !isAbsent(first)) return failed(term, [first])
    const parts = [first, this.explain(other)]
    const { value, cause } = parts[1] as Explanation
    return { term, value, cause, parts }
  }
}

/**
 * Whether this is an error because a name that it reads is missing. Reads inside the iterations of
 * a macro do not count.
 */
function isAbsent({ term, value, parts }: Explanation): boolean {
  if (value !== undefined) return false
  if (term.kind === 'variable') return true
  if (term.kind === 'coalesce') {
    const last = parts.at(-1)
    return last !== undefined && isAbsent(last)
  }
  const failedPart = parts.find((part) => part.value === undefined)
  const [first] = parts
  if (term.kind === 'loop') return first !== undefined && isAbsent(first)
  if (failedPart !== undefined) return isAbsent(failedPart)
  const isRead =
    (term.kind === 'field' && term.access === 'get') || (term.kind === 'index' && !term.optional)
  if (!isRead || first?.value === undefined) return false
  const isHost = term.operand.type.kind === 'struct' && isKnown(term.operand)
  return isHost || hasMembers(first.value)
}

function unset(term: Term, variable: string): Explanation {
  return { term, value: undefined, cause: { kind: 'unset', variable }, parts: [] }
}

/** Applies a function to the values of the parts if none is an error. */
function computed(
  term: Term,
  parts: readonly Explanation[],
  compute: (values: readonly Maybe[]) => Maybe,
): Explanation {
  if (parts.some((part) => part.value === undefined)) return failed(term, parts)
  failure.reason = ''
  failure.detail = undefined
  const value = compute(parts.map((part) => part.value))
  return value === undefined
    ? broken(term, failure.reason, parts, failure.detail)
    : evaluated(term, value, parts)
}

function hasMembers(value: Value): boolean {
  if (value instanceof CelMap || value instanceof Struct) return true
  return typeName(value) === 'map'
}

function hostField(value: Value, field: string): Maybe {
  return (value as { readonly [name: string]: Maybe })[field]
}

/** Existing names instead of the missing one; names only, never values. */
function membersOf(value: Value): readonly string[] {
  const max = 20
  if (value instanceof CelMap) return [...value.keys()].slice(0, max).map(String)
  if (value instanceof Struct) return [...value.fieldNames].slice(0, max)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  return Object.keys(value).slice(0, max)
}
