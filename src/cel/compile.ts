import type { Diagnostic, Origin } from '../diagnostics/diagnostic.ts'
import { check, type Finding } from './check/check.ts'
import { costOf, MAX_COST } from './check/cost.ts'
import type { Environment } from './check/environment.ts'
import { type Read, readsAnything, readsOf } from './check/reads.ts'
import { type CallTerm, children, type Term } from './check/term.ts'
import { isDynamic, type Type } from './check/types.ts'
import { showType } from './check/unify.ts'
import { closeEvaluate, closePredicate } from './emit/closures.ts'
import type { Evaluate, Predicate, Variables } from './emit/functions.ts'
import { generateEvaluate, generatePredicate } from './emit/generate.ts'
import { isMetered } from './emit/metered.ts'
import { explain } from './explain/explain.ts'
import type { Explanation } from './explain/explanation.ts'
import { parse } from './syntax/parse.ts'
import { DEFAULT_FUEL } from './values/fuel.ts'
import type { Allowance } from './values/ledger.ts'
import { show } from './values/show.ts'

export type Backend = 'generated' | 'closures'

export interface CompileOptions {
  /** Defaults to generated code if the process may generate it, else closures. */
  readonly backend?: Backend
  /** If false, names are resolved but types are not checked. */
  readonly check?: boolean
  /** The required type of the result: bool for rules. */
  readonly expect?: Type
  /** Requires the same result for the same request at any time, as decisions do. */
  readonly pure?: boolean
  /** The origin of the text, or of each offset in it. */
  readonly origin?: Origin | ((offset: number) => Origin)
  /** The max cost of one evaluation; see values/fuel.ts. */
  readonly budget?: number
  readonly macros?: boolean
}

export interface Compiled {
  /** `undefined` if and only if the diagnostics contain an error. */
  readonly expression: Expression | undefined
  readonly diagnostics: readonly Diagnostic[]
}

/** Compiles text to an expression, or reports why it cannot. Never throws. */
export function compile(
  text: string,
  environment: Environment,
  options: CompileOptions = {},
): Compiled {
  const { expr, problem } = parse(text, undefined, options.macros)
  if (expr === undefined) {
    const message = problem?.message ?? 'syntax error'
    const at = problem ?? { start: 0, end: text.length }
    const code = problem?.limit ? 'PC0102' : 'PC0101'
    const finding = { code, severity: 'error', message, start: at.start, end: at.end } as const
    const hint = problem?.hint
    return rejected(text, [hint === undefined ? finding : { ...finding, hint }], options)
  }
  const { term, findings } = check(expr, environment, options.check ?? true)
  if (hasError(findings)) return rejected(text, findings, options)
  const all = [...findings, ...judge(term, options)]
  if (hasError(all)) return rejected(text, all, options)
  const expression = new Expression(text, environment, term, options)
  return { expression, diagnostics: all.map((finding) => diagnose(text, finding, options)) }
}

function hasError(findings: readonly Finding[]): boolean {
  return findings.some((finding) => finding.severity === 'error')
}

/** One checked expression and the ways to run it, each created on demand. */
export class Expression {
  readonly text: string
  readonly type: Type
  readonly environment: Environment
  /** Loops or builds values, and therefore runs against a budget. */
  readonly metered: boolean
  readonly budget: number
  readonly #generates: boolean
  readonly #isChecked: boolean
  readonly #macros: boolean | undefined
  #term: Term | undefined
  #isHeld = false
  #predicate: Predicate | undefined

  constructor(text: string, environment: Environment, term: Term, options: CompileOptions) {
    this.text = text
    this.type = term.type
    this.environment = environment
    this.metered = isMetered(term)
    this.budget = options.budget ?? DEFAULT_FUEL
    // The options are not kept: the origin may reference the whole document.
    this.#generates = options.backend !== 'closures'
    this.#isChecked = options.check ?? true
    this.#macros = options.macros
    this.#term = term
  }

  /** The checked tree; rebuilt if it was released. */
  get term(): Term {
    if (this.#term !== undefined) return this.#term
    const { expr } = parse(this.text, undefined, this.#macros)
    if (expr === undefined)
      throw new Error(`an expression that compiled before no longer parses: ${this.text}`)
    return check(expr, this.environment, this.#isChecked).term
  }

  /** Retains the tree of an expression that is used repeatedly, until it is released. */
  retain(): void {
    this.#term = this.term
  }

  /** Releases the tree, the larger part of an expression; tools that need it again rebuild it. */
  release(): void {
    if (!this.#isHeld) this.#term = undefined
  }

  /** Retains the tree and the predicate for many users of the expression, until releaseShared(). */
  retainShared(): void {
    this.#term = this.term
    this.#isHeld = true
  }

  releaseShared(): void {
    this.#isHeld = false
    this.#term = undefined
    this.#predicate = undefined
  }

  get reads(): readonly Read[] {
    return readsOf(this.term, this.environment)
  }

  /** Tests whether the expression is definitely true. */
  predicate(): Predicate {
    if (!this.#isHeld) return this.predicatePart(this.term)
    this.#predicate ??= this.predicatePart(this.term)
    return this.#predicate
  }

  /** Returns the value, or `undefined` for CEL's error. */
  evaluate(): Evaluate {
    return this.evaluatePart(this.term)
  }

  /** Compiles a part of this expression, or recombined parts, with its back end and budget. */
  predicatePart(term: Term): Predicate {
    const generated = this.#generates ? generatePredicate(term, this.budget) : undefined
    return generated ?? closePredicate(term, this.budget, isMetered(term))
  }

  evaluatePart(term: Term): Evaluate {
    const generated = this.#generates ? generateEvaluate(term, this.budget) : undefined
    return generated ?? closeEvaluate(term, this.budget, isMetered(term))
  }

  /** Explains the value or the error of every sub-expression; `effort` limits the cost. */
  explain(variables: Variables, effort?: Allowance): Explanation {
    return explain(this.term, variables, this.budget, effort)
  }
}

/** Checks that apply only to the expression as a whole. */
function judge(term: Term, options: CompileOptions): readonly Finding[] {
  if (options.check === false) return []
  const findings: Finding[] = []
  const report = (code: string, severity: Finding['severity'], message: string, hint: string) =>
    findings.push({ code, severity, message, hint, start: term.start, end: term.end })
  const { expect } = options
  const changing = options.pure ? impureCall(term) : undefined
  if (changing !== undefined) {
    const { start, end, name } = changing
    const message = `${name}() is not allowed in a rule: its result changes with each call`
    const hint = 'use attributes of the request instead, such as a header, a claim or an address'
    findings.push({ code: 'PC0116', severity: 'error', message, hint, start, end })
  }
  if (expect !== undefined && term.type.kind !== expect.kind && !isDynamic(term.type)) {
    report(
      'PC0109',
      'error',
      `expected ${showType(expect)}, found ${showType(term.type)}`,
      term.kind === 'constant' && typeof term.value === 'string' && /[=<>(]/.test(term.value)
        ? 'remove the quotes around the expression'
        : 'add a comparison: x == …',
    )
  } else if (expect?.kind === 'bool') {
    if (term.kind === 'constant') {
      report(
        'PC0110',
        'warning',
        `this is always ${show(term.value)}`,
        'it does not depend on the request',
      )
    } else if (!readsAnything(term) && impureCall(term) === undefined) {
      report(
        'PC0110',
        'warning',
        'this expression does not depend on the request: it always has the same result',
        'use an attribute of the request',
      )
    }
  }
  if (costOf(term) > MAX_COST) {
    report(
      'PC0113',
      'error',
      'this expression can take millions of steps for a single request',
      'avoid nested loops, or loop over smaller lists',
    )
  }
  return findings
}

/** The first call of a function whose result changes with each call. */
function impureCall(term: Term): CallTerm | undefined {
  if (term.kind === 'call' && term.overloads.some((overload) => overload.impure)) return term
  for (const child of children(term)) {
    const found = impureCall(child)
    if (found !== undefined) return found
  }
  return undefined
}

function rejected(text: string, findings: readonly Finding[], options: CompileOptions): Compiled {
  return {
    expression: undefined,
    diagnostics: findings.map((finding) => diagnose(text, finding, options)),
  }
}

function diagnose(text: string, finding: Finding, { origin }: CompileOptions): Diagnostic {
  const { code, severity, message, hint, start, end } = finding
  const diagnostic = {
    code,
    severity,
    message,
    origin: place(start, origin),
    excerpt: { text, start, end },
  }
  return hint === undefined ? diagnostic : { ...diagnostic, hint }
}

function place(start: number, origin: CompileOptions['origin']): Origin {
  if (origin === undefined) return { kind: 'object', object: 'expression', field: '' }
  if (typeof origin === 'function') return origin(start)
  return origin.kind === 'part' ? { ...origin, at: start } : origin
}
