import { nearest } from '../../diagnostics/nearest.ts'
import type { Call, Expr, Ident, ListExpr, MapExpr, Select, Span } from '../syntax/ast.ts'
import { Uint } from '../values/number.ts'
import { TypeValue } from '../values/type-value.ts'
import type { Value } from '../values/value.ts'
import { checkCall } from './calls.ts'
import { candidates, type Environment } from './environment.ts'
import { checkEqual, checkMember } from './equality.ts'
import { fold } from './fold.ts'
import { hyphenated, wordHint } from './hints.ts'
import { checkLoop } from './loops.ts'
import { fieldType, indexType } from './shapes.ts'
import { type Access, children, invalid, type LocalTerm, type Term } from './term.ts'
import { isDeclared, isKnown } from './trusted-types.ts'
import { TYPE_NAMES } from './type-names.ts'
import * as T from './types.ts'
import type { Typing } from './typing.ts'
import { Substitution, showType } from './unify.ts'

/** A problem in a part of an expression; ../compile.ts converts it to a Diagnostic. */
export interface Finding extends Span {
  readonly code: string
  readonly severity: 'error' | 'warning'
  readonly message: string
  readonly hint?: string
}

export interface Checked {
  readonly term: Term
  readonly findings: readonly Finding[]
}

/** Resolves names and types. If `strict` is false, all types are dyn and nothing is reported. */
export function check(expr: Expr, environment: Environment, strict = true): Checked {
  const checker = new Checker(environment, strict)
  const term = checker.check(expr)
  checker.settle(term)
  return { term, findings: checker.findings }
}

export class Checker implements Typing {
  readonly environment: Environment
  readonly strict: boolean
  readonly types = new Substitution()
  readonly findings: Finding[] = []
  readonly #scopes: LocalTerm[] = []
  #slots = 0

  constructor(environment: Environment, strict: boolean) {
    this.environment = environment
    this.strict = strict
  }

  report(
    code: string,
    at: Span,
    message: string,
    hint?: string,
    severity: 'error' | 'warning' = 'error',
  ) {
    if (!this.strict) return
    const isKnown = (known: Finding) =>
      known.code === code && known.start === at.start && known.end === at.end
    if (this.findings.some(isKnown)) return
    const place = { code, severity, message, start: at.start, end: at.end }
    this.findings.push(hint === undefined ? place : { ...place, hint })
  }

  check(expr: Expr): Term {
    const term = this.#term(expr)
    return this.strict ? term : ({ ...term, type: T.DYN } as Term)
  }

  #term(expr: Expr): Term {
    const { start, end } = expr
    switch (expr.kind) {
      case 'literal':
        return { kind: 'constant', value: expr.value, type: literalType(expr.value), start, end }
      case 'ident':
        return this.#ident(expr)
      case 'select':
        return this.#select(expr)
      case 'index': {
        const operand = this.check(expr.operand)
        const index = this.check(expr.index)
        const isList = this.types.shallow(operand.type).kind === 'list'
        if (index.kind === 'constant' && typeof index.value === 'string' && !isList) {
          return this.#field(operand, index.value, expr.optional ? 'optional' : 'get', expr)
        }
        const type = indexType(this, operand, index, expr.optional, expr)
        return { kind: 'index', operand, index, optional: expr.optional, type, start, end }
      }
      case 'call':
        return this.#call(expr)
      case 'and':
      case 'or': {
        const left = this.condition(expr.left, expr.kind === 'and' ? '&&' : '||')
        const right = this.condition(expr.right, expr.kind === 'and' ? '&&' : '||')
        return fold({ kind: expr.kind, left, right, type: T.BOOL, start, end })
      }
      case 'not':
        return fold({
          kind: 'not',
          operand: this.condition(expr.operand, '!'),
          type: T.BOOL,
          start,
          end,
        })
      case 'conditional': {
        const condition = this.condition(expr.condition, '?')
        const whenTrue = this.check(expr.whenTrue)
        const whenFalse = this.check(expr.whenFalse)
        const type = this.#branches(expr, whenTrue, whenFalse)
        return fold({ kind: 'conditional', condition, whenTrue, whenFalse, type, start, end })
      }
      case 'list':
        return this.#list(expr)
      case 'map':
        return this.#map(expr)
      case 'message':
        this.report(
          'PC0114',
          expr,
          `message types are not supported: ${expr.name}`,
          'use a map: {"key": value}',
        )
        return invalid('unknown message type', expr)
      case 'comprehension':
        return checkLoop(this, expr)
      case 'bind': {
        const value = this.check(expr.value)
        const trust = { known: isKnown(value), declared: isDeclared(value) }
        return this.scoped(expr.name, value.type, trust, expr, (local) => {
          const body = this.check(expr.body)
          const { strict } = expr
          return { kind: 'bind', local, value, body, strict, type: body.type, start, end }
        })
      }
      case 'optMap': {
        const target = this.check(expr.target)
        const known = this.types.shallow(target.type)
        if (known.kind !== 'optional' && !T.isDynamic(known)) {
          this.report(
            'PC0106',
            expr.target,
            `optMap requires an optional, found ${showType(known)}`,
            'use x.?field or optional.of(x)',
          )
        }
        const element = known.kind === 'optional' ? known.element : T.DYN
        return this.scoped(expr.name, element, UNKNOWN, expr, (local) => {
          const body = this.check(expr.body)
          const type = expr.flat ? body.type : T.optionalOf(body.type)
          return { kind: 'optMap', target, local, body, flat: expr.flat, type, start, end }
        })
      }
    }
  }

  #ident(expr: Ident): Term {
    return this.#known(expr) ?? this.#unknown(expr.name, expr, wordHint(expr.name))
  }

  #known({ name, start, end }: Ident): Term | undefined {
    const local = this.#local(name)
    return local === undefined ? this.#named(name, { start, end }) : { ...local, start, end }
  }

  #local(name: string): LocalTerm | undefined {
    return this.#scopes.findLast((local) => local.name === name)
  }

  /** The variable or type that this dotted name denotes. */
  #named(name: string, { start, end }: Span): Term | undefined {
    for (const candidate of candidates(this.environment.container, name)) {
      const variable = this.environment.variables.get(candidate)
      if (variable !== undefined) {
        return { kind: 'variable', name: candidate, type: variable.type, start, end }
      }
      const type = TYPE_NAMES.get(candidate)
      if (type !== undefined) {
        const value = new TypeValue(candidate)
        return { kind: 'constant', value, type: T.typeOf(type), start, end }
      }
    }
    return undefined
  }

  /** `own` is the hint if no variable has a similar name. */
  #unknown(name: string, at: Span, own?: string): Term {
    const elsewhere = this.environment.elsewhere.get(name)
    if (elsewhere !== undefined) {
      this.report('PC0104', at, `\`${name}\` is not available ${this.environment.name}`, elsewhere)
    } else {
      const near = nearest(name, [
        ...this.environment.variables.keys(),
        ...this.#scopes.map((l) => l.name),
      ])
      const known = [...this.environment.variables.keys()].join(', ')
      const hint = near === undefined ? own : `did you mean \`${near}\`?`
      this.report('PC0103', at, `unknown variable \`${name}\``, hint ?? `available: ${known}`)
    }
    return invalid(`unknown variable ${name}`, at)
  }

  #select(expr: Select): Term {
    const qualified = expr.optional || expr.test ? undefined : this.#qualified(expr)
    if (qualified !== undefined) return qualified
    const access = expr.test ? 'test' : expr.optional ? 'optional' : 'get'
    const { operand } = expr
    const checked =
      operand.kind === 'ident'
        ? (this.#known(operand) ?? this.#unknown(operand.name, operand))
        : this.check(operand)
    return this.#field(checked, expr.field, access, expr)
  }

  /** `operand.name`, or the equivalent `operand['name']`. */
  #field(operand: Term, name: string, access: Access, at: Span): Term {
    const { start, end } = at
    const known = this.types.shallow(operand.type)
    const field = known.kind === 'map' && known.caseless ? name.toLowerCase() : name
    const found = fieldType(this, operand, field, at)
    if (access === 'test')
      return { kind: 'field', operand, field, access, type: T.BOOL, start, end }
    const isOptional = access === 'optional' || known.kind === 'optional'
    const type = isOptional ? T.optionalOf(found) : found
    return { kind: 'field', operand, field, access, type, start, end }
  }

  /** `a.b.c` may name a single variable; the longest name wins, except that locals come first. */
  #qualified(expr: Select): Term | undefined {
    const name = this.spelled(expr)
    return name === undefined ? undefined : this.#named(name, expr)
  }

  /** The dotted name that this expression spells, unless it starts with a local. */
  spelled(expr: Expr): string | undefined {
    if (expr.kind === 'ident') return this.#local(expr.name) === undefined ? expr.name : undefined
    if (expr.kind !== 'select' || expr.optional || expr.test) return undefined
    const operand = this.spelled(expr.operand)
    return operand === undefined ? undefined : `${operand}.${expr.field}`
  }

  #call(expr: Call): Term {
    const { start, end, name } = expr
    if (name === '_==_' || name === '_!=_') {
      const sides = expr.args.map((arg) => this.check(arg)) as [Term, Term]
      const [left, right] = checkEqual(this, ...sides, expr)
      const type = T.BOOL
      return fold({ kind: 'equal', left, right, negated: name === '_!=_', type, start, end })
    }
    if (name === '@in') {
      const sides = expr.args.map((arg) => this.check(arg)) as [Term, Term]
      const [element, container] = checkMember(this, ...sides, expr)
      return fold({ kind: 'member', element, container, type: T.BOOL, start, end })
    }
    return this.#hyphenated(expr) ?? checkCall(this, expr)
  }

  /** `request.headers.x-internal` is reported as one mistake, not checked as a subtraction. */
  #hyphenated(expr: Call): Term | undefined {
    const meant = hyphenated(expr)
    if (meant?.last.kind !== 'ident') return undefined
    const { name } = meant.last
    if (this.#local(name) !== undefined || this.#named(name, expr) !== undefined) return undefined
    return this.#unknown(name, meant.last, meant.hint)
  }

  /** Checks an operand of a logical operator or the condition of a macro. */
  condition(expr: Expr, operator: string): Term {
    const term = this.check(expr)
    if (!this.types.assignable(term.type, T.BOOL)) {
      const message = `\`${operator}\` requires a bool, found ${showType(this.types.resolve(term.type))}`
      this.report('PC0106', term, message, 'add a comparison: x == …')
    }
    return term
  }

  #branches(at: Span, whenTrue: Term, whenFalse: Term): T.Type {
    if (this.types.tentatively(() => this.types.assignable(whenTrue.type, whenFalse.type))) {
      return this.types.join(whenTrue.type, whenFalse.type)
    }
    const [a, b] = [whenTrue, whenFalse].map((term) => showType(this.types.resolve(term.type)))
    this.report(
      'PC0106',
      at,
      `both results must have the same type, found ${a} and ${b}`,
      'wrap one of them in dyn(…)',
    )
    return T.DYN
  }

  #list(expr: ListExpr): Term {
    const { start, end } = expr
    let type: T.Type | undefined
    const elements = expr.elements.map(({ value, optional }) => {
      const term = this.check(value)
      const element = optional ? this.#unwrapped(term) : term.type
      type = type === undefined ? element : this.types.join(type, element)
      return { value: term, optional }
    })
    return fold({
      kind: 'list',
      elements,
      type: T.listOf(type ?? this.types.unknown()),
      start,
      end,
    })
  }

  #map(expr: MapExpr): Term {
    const { start, end } = expr
    let keys: T.Type | undefined
    let values: T.Type | undefined
    const entries = expr.entries.map(({ key, value, optional }) => {
      const keyTerm = this.check(key)
      const valueTerm = this.check(value)
      keys = keys === undefined ? keyTerm.type : this.types.join(keys, keyTerm.type)
      const found = optional ? this.#unwrapped(valueTerm) : valueTerm.type
      values = values === undefined ? found : this.types.join(values, found)
      return { key: keyTerm, value: valueTerm, optional }
    })
    const type = T.mapOf(keys ?? this.types.unknown(), values ?? this.types.unknown())
    return fold({ kind: 'map', entries, type, start, end })
  }

  /** The type inside the optional that `?x` requires in a list or map. */
  #unwrapped(term: Term): T.Type {
    const known = this.types.shallow(term.type)
    if (known.kind === 'optional') return known.element
    if (!T.isDynamic(known)) {
      this.report(
        'PC0106',
        term,
        `\`?\` requires an optional, found ${showType(known)}`,
        'use optional.of(x)',
      )
    }
    return T.DYN
  }

  /** Checks `inside` with a local variable in scope. */
  scoped(
    name: string,
    type: T.Type,
    trust: Pick<LocalTerm, 'known' | 'declared'>,
    at: Span,
    inside: (local: LocalTerm) => Term,
  ): Term {
    if (this.environment.variables.has(name)) {
      this.report(
        'PC0115',
        at,
        `\`${name}\` shadows the variable of the same name`,
        'choose another name',
        'warning',
      )
    }
    const local: LocalTerm = {
      kind: 'local',
      name,
      slot: this.#slots++,
      ...trust,
      type,
      start: at.start,
      end: at.start,
    }
    this.#scopes.push(local)
    const term = inside(local)
    this.#scopes.pop()
    return term
  }

  /** Fills in types that became known after their node was created, such as elements of `[]`. */
  settle(term: Term): void {
    if (!this.types.open) return
    ;(term as { type: T.Type }).type = this.types.resolve(term.type)
    for (const child of children(term)) this.settle(child)
  }
}

/** Values inside something that the expression itself creates; see ./trusted-types.ts. */
const UNKNOWN = { known: false, declared: false }

function literalType(value: Value): T.Type {
  if (value === null) return T.NULL
  switch (typeof value) {
    case 'boolean':
      return T.BOOL
    case 'string':
      return T.STRING
    case 'bigint':
      return T.INT
    case 'number':
      return Number.isSafeInteger(value) ? T.INT : T.DOUBLE
  }
  if (value instanceof Uint) return T.UINT
  return value instanceof Uint8Array ? T.BYTES : T.DOUBLE
}
