import type { Expression } from '../compile.ts'
import type { Evaluate, Predicate, Variables } from '../emit/functions.ts'
import { isMetered } from '../emit/metered.ts'
import { fuel } from '../values/fuel.ts'
import { type Alternative, alternatives, type Counts, compileAny, type Emit } from './any-set.ts'
import type { Subject } from './atoms.ts'
import type { Matcher } from './lookups.ts'

export type Action = 'Deny' | 'Require' | 'Allow'

export interface Rule {
  readonly action: Action
  readonly expression: Expression
}

export interface RuleSetOptions {
  /** If false, every rule is tested one by one; the reference for the index. */
  readonly index?: boolean
  /** The min number of strings in a large lookup, where memory costs more than custom hashing. */
  readonly flatFrom?: number
}

const MANY = 2_000

/**
 * Which rule decided; `rule` is -1 if no Allow rule matched, or if there are no Allow rules and
 * nothing denied the request.
 */
export interface Deciding {
  readonly allowed: boolean
  readonly action: Action | undefined
  readonly rule: number
}

/**
 * All rules that apply at one point, as one decision: Deny, then Require, then Allow. A rule
 * matches only if it is definitely true: a rule with an error does not match.
 */
export interface RuleSet {
  /** How many alternatives of Deny and Allow rules use lookups, and how many run one by one. */
  readonly counts: Readonly<Counts>
  decide(variables: Variables): boolean
  /** For a set of Allow rules: the rule that admits, or -1. As cheap as `decide`. */
  admitting(variables: Variables): number
  /** For a set of Deny or Require rules: the rule that denies, or -1. As cheap as `decide`. */
  denying(variables: Variables): number
  deciding(variables: Variables): Deciding
}

/** Reads rules one at a time and retains little of each: pass a generator if there are many. */
export function compileRules(rules: Iterable<Rule>, options: RuleSetOptions = {}): RuleSet {
  const all: Rule[] = []
  const counts: Counts = { indexed: 0, linear: 0 }
  let requires: Map<string, Requirement> | undefined
  let subjects: Map<string, Subject> | undefined
  let found: Record<'Deny' | 'Allow', Alternative[]> | undefined
  for (const rule of rules) {
    const { action, expression } = rule
    const number = all.push(rule) - 1
    // Every Require rule must pass, so there is nothing to look up; equal ones are tested once.
    if (action === 'Require') {
      const { text } = expression
      requires ??= new Map()
      if (!requires.has(text)) requires.set(text, { rule: number, test: expression.predicate() })
    } else {
      subjects ??= new Map()
      found ??= { Deny: [], Allow: [] }
      for (const alternative of alternatives(number, expression.term, subjects)) {
        found[action].push(alternative)
      }
    }
    expression.release()
  }
  const match = (action: 'Deny' | 'Allow') => {
    const own = found?.[action] ?? []
    if (own.length === 0) return undefined
    const emit = emitter(all, action, options.flatFrom ?? MANY)
    return matcher(all, action, options.index === false ? undefined : own, emit, counts)
  }
  const required = requires === undefined ? NO_REQUIREMENTS : [...requires.values()]
  return new CompiledRules(counts, match('Deny'), required, match('Allow'))
}

/**
 * A set of one rule; the same expression returns the same set. Its function is created on the first
 * decision: thousands of routes have one rule each, and most get no request for a long time.
 */
export function compileRule(rule: Rule): RuleSet {
  const { action, expression } = rule
  let sets = alone.get(expression)
  if (sets === undefined) alone.set(expression, (sets = {}))
  sets[action] ??= new DeferredRules([rule])
  expression.release()
  return sets[action]
}

/**
 * A set of few rules, whose function is created on the first decision: editing one rule of a route
 * costs no more than that rule, and the first request of the route pays for the rest.
 */
export function compileFewRules(rules: readonly Rule[]): RuleSet {
  const [first, ...others] = rules
  if (first !== undefined && others.length === 0) return compileRule(first)
  for (const { expression } of rules) expression.release()
  return new DeferredRules(rules)
}

const alone = new WeakMap<Expression, Partial<Record<Action, RuleSet>>>()

class DeferredRules implements RuleSet {
  readonly #rules: readonly Rule[]
  #set: RuleSet | undefined

  constructor(rules: readonly Rule[]) {
    this.#rules = rules
  }

  get counts(): Readonly<Counts> {
    return (this.#set ?? this.#made()).counts
  }

  decide(variables: Variables): boolean {
    return (this.#set ?? this.#made()).decide(variables)
  }

  admitting(variables: Variables): number {
    return (this.#set ?? this.#made()).admitting(variables)
  }

  denying(variables: Variables): number {
    return (this.#set ?? this.#made()).denying(variables)
  }

  deciding(variables: Variables): Deciding {
    return (this.#set ?? this.#made()).deciding(variables)
  }

  #made(): RuleSet {
    this.#set = compileRules(this.#rules)
    return this.#set
  }
}

const NO_REQUIREMENTS: readonly Requirement[] = []

interface Requirement {
  readonly rule: number
  readonly test: Predicate
}

class CompiledRules implements RuleSet {
  readonly counts: Readonly<Counts>
  readonly #denies: Matcher | undefined
  readonly #requires: readonly Requirement[]
  readonly #allows: Matcher | undefined

  constructor(
    counts: Counts,
    denies: Matcher | undefined,
    requires: readonly Requirement[],
    allows: Matcher | undefined,
  ) {
    this.counts = counts
    this.#denies = denies
    this.#requires = requires
    this.#allows = allows
  }

  decide(variables: Variables): boolean {
    if (this.#denies !== undefined && this.#denies.match(variables) >= 0) return false
    const requires = this.#requires
    for (let i = 0; i < requires.length; i++) {
      if (!(requires[i] as Requirement).test(variables)) return false
    }
    return this.#allows === undefined || this.#allows.match(variables) >= 0
  }

  admitting(variables: Variables): number {
    return this.#allows === undefined ? -1 : this.#allows.match(variables)
  }

  denying(variables: Variables): number {
    const denied = this.#denies === undefined ? -1 : this.#denies.match(variables)
    if (denied >= 0) return denied
    const requires = this.#requires
    for (let i = 0; i < requires.length; i++) {
      const { rule, test } = requires[i] as Requirement
      if (!test(variables)) return rule
    }
    return -1
  }

  deciding(variables: Variables): Deciding {
    const denied = this.#denies?.match(variables) ?? -1
    if (denied >= 0) return { allowed: false, action: 'Deny', rule: denied }
    const unmet = this.#requires.find((requirement) => !requirement.test(variables))
    if (unmet !== undefined) return { allowed: false, action: 'Require', rule: unmet.rule }
    if (this.#allows === undefined) return { allowed: true, action: undefined, rule: -1 }
    const allowed = this.#allows.match(variables)
    return { allowed: allowed >= 0, action: 'Allow', rule: allowed }
  }
}

/** Without alternatives, rules are tested one by one. */
function matcher(
  rules: readonly Rule[],
  action: 'Deny' | 'Allow',
  found: readonly Alternative[] | undefined,
  emit: Emit,
  counts: Counts,
): Matcher {
  if (found !== undefined) return compileAny(found, emit, counts)
  const tests = [...rules.entries()]
    .filter(([, rule]) => rule.action === action)
    .map(([rule]) => ({ rule, test: emit.predicate(undefined, rule) }))
  counts.linear += tests.length
  return { match: (variables) => tests.find(({ test }) => test(variables))?.rule ?? -1 }
}

function emitter(rules: readonly Rule[], action: Action, flatFrom: number): Emit {
  const reads = new Map<string, Evaluate>()
  return {
    flatFrom,
    read(subject) {
      const { path, term } = subject
      const known = reads.get(path) ?? (rules[0] as Rule).expression.evaluatePart(term)
      reads.set(path, known)
      return known
    },
    predicate(part, rule) {
      const { expression } = rules[rule] as Rule
      const term = part ?? expression.term
      const test = expression.predicatePart(term)
      if (action !== 'Deny' || !isMetered(term)) return test
      // A request that makes a Deny rule too costly must not bypass it.
      return (variables) => test(variables) || fuel.left < 0
    },
  }
}
