import { compileFewRules, compileRules, type Rule, type Variables } from '../cel/index.ts'
import {
  type Decider,
  type Decision,
  type DecisionSampler,
  type ExplainedRule,
  type ExplainSteps,
  NO_SAMPLER,
  type RulePlace,
  type Tally,
} from '../exchange/decision.ts'
import type { Scope } from '../exchange/identity.ts'
import type { ValidPolicy } from '../model/policy.ts'
import { admittingApart, findThrowing, undecided } from './authorization-fault.ts'
import {
  attributesOf,
  type Denial,
  entered,
  judge,
  type PlacedRule,
  placeOf,
  type RuleGroups,
  reportFailures,
  ruleAt,
  type ScopedRules,
} from './authorization-judgement.ts'
import type { Authorization, AuthorizationRule } from './authorization-rules.ts'
import type { CompileContext } from './define.ts'
import { STAGE_OF_SECTION } from './expressions.ts'

/**
 * Compiles the rules of all policies to one set: Deny, then Require, then Allow over the union of
 * all levels. Each level is compiled once for all routes below it, since a gateway may have
 * thousands of rules and thousands of routes. Policies of a level that see different identities
 * form separate sets, each decided in its own scope; usually there is one scope, and this changes
 * nothing. Blocks in audit mode are separate, too: they are evaluated after the others have allowed
 * a request, and their verdict is recorded, never enforced.
 */
export function compileDecision(
  policies: readonly [ValidPolicy<Authorization>, ...ValidPolicy<Authorization>[]],
  context: CompileContext,
  stage = STAGE_OF_SECTION[policies[0].section] as Decision['stage'],
): Decider {
  const [sets = NO_RULES, ...others] = byLevel(policies, context).map(({ scope, members }) =>
    context.shared(members, () => compileLevel(members, scope, context, stage)),
  )
  return deciderOf(others.length === 0 ? sets : [sets, ...others].flat(), context, stage)
}

function deciderOf(
  sets: readonly CompiledRules[],
  { sampler }: CompileContext,
  stage: Decision['stage'],
): Decider {
  const enforced = groupsOf(sets, 'Enforce')
  const isAudited = sets.some(({ mode }) => mode === 'Audit')
  const audit = isAudited ? groupsOf(sets, 'Audit') : undefined
  return new RuleDecider(stage, enforced, audit, sampler)
}

/** Thousands of routes have one or two rules each, so they all share one empty list. */
function groupsOf(sets: readonly CompiledRules[], mode: Mode): Groups {
  return {
    denies: setsOf(sets, 'Deny', mode),
    requires: setsOf(sets, 'Require', mode),
    allows: setsOf(sets, 'Allow', mode),
  }
}

function setsOf(sets: readonly CompiledRules[], action: Rule['action'], mode: Mode) {
  const isOwn = (set: CompiledRules) => set.action === action && set.mode === mode
  if (!sets.some(isOwn)) return NO_RULES
  return sets.every(isOwn) ? sets : sets.filter(isOwn)
}

const NO_RULES: readonly CompiledRules[] = []

/** A decision that is recorded once is not counted or searched for again. */
const SILENT_SAMPLER: DecisionSampler = { ...NO_SAMPLER, search: () => undefined }

type Mode = Authorization['mode']

/** Rules of one action and one mode that see the same identities. */
interface CompiledRules extends ScopedRules {
  readonly action: Rule['action']
  readonly mode: Mode
  /** The counters of what each rule admits; looked up on first use. */
  readonly tallies: (Tally | undefined)[]
}

type Groups = RuleGroups<CompiledRules>

class RuleDecider implements Decider {
  readonly #stage: Decision['stage']
  readonly #enforced: Groups
  readonly #audit: Groups | undefined
  /** Both together. */
  readonly #all: Groups
  readonly #sampler: DecisionSampler
  readonly #share: number
  #unopposed: Tally | undefined
  /** Where the next look for failures starts. */
  #cursor = 0

  constructor(
    stage: Decision['stage'],
    enforced: Groups,
    audit: Groups | undefined,
    sampler: DecisionSampler,
  ) {
    this.#stage = stage
    this.#enforced = enforced
    this.#audit = audit
    this.#all = audit === undefined ? enforced : together(enforced, audit)
    this.#sampler = sampler
    this.#share = sampler.share
  }

  decide(variables: Variables): Decision | undefined {
    if (this.#sampler.shouldAudit()) this.#lookForFailures(variables)
    const denial = this.#denialOf(variables)
    if (denial !== undefined) {
      if (typeof denial === 'object' && 'stage' in denial) return denial
      const otherwise = undecided(this.#stage, 'error', undefined)
      return this.#reported(true, this.#enforced, variables, otherwise, denial)
    }
    if (this.#audit !== undefined && !this.#passes(this.#audit, variables)) {
      return this.#reported(false, this.#all, variables, undefined)
    }
    if (this.#share === 0 || Math.random() >= this.#share) return undefined
    return this.#reported(true, this.#enforced, variables, undefined)
  }

  admittedBy(variables: Variables): RulePlace | undefined {
    for (const allow of this.#enforced.allows) {
      const rule = entered(allow, variables).admitting(variables)
      if (rule >= 0) return placeOf(allow.placed[rule] as PlacedRule)
    }
    return undefined
  }

  *explain(variables: Variables): ExplainSteps {
    const { denies, requires, allows } = this.#all
    const rules: ExplainedRule[] = []
    for (const set of [...denies, ...requires, ...allows]) {
      entered(set, variables)
      for (const rule of set.placed) {
        rules.push({ rule: placeOf(rule), explanation: rule.expression.explain(variables) })
        yield
      }
    }
    return rules
  }

  /**
   * Undefined: the request is admitted and counted. A Decision: the request is denied because a
   * rule threw, and there is nothing more to explain.
   */
  #denialOf(variables: Variables): Denial | Decision | undefined {
    const { denies, requires, allows } = this.#enforced
    let at: CompiledRules | undefined
    try {
      for (const deny of denies) {
        at = deny
        const rule = entered(deny, variables).denying(variables)
        if (rule >= 0) return ruleAt(deny, rule)
      }
      for (const require of requires) {
        at = require
        const rule = entered(require, variables).denying(variables)
        if (rule >= 0) return ruleAt(require, rule)
      }
      at = undefined
      if (allows.length === 0) {
        this.#unopposed ??= this.#sampler.admitted(undefined)
        this.#unopposed.inc()
        return undefined
      }
      for (const allow of allows) {
        at = allow
        const rule = entered(allow, variables).admitting(variables)
        if (rule >= 0) return this.#admitted(allow, rule)
      }
      return 'no-allow-match'
    } catch (error) {
      return this.#afterThrow(at, variables, error)
    }
  }

  #admitted(allow: CompiledRules, rule: number): undefined {
    const tally = allow.tallies[rule] ?? this.#tallyOf(allow, rule)
    tally.inc()
    return undefined
  }

  #afterThrow(
    at: CompiledRules | undefined,
    variables: Variables,
    error: unknown,
  ): Decision | undefined {
    if (at === undefined) throw error
    if (at.action !== 'Allow') {
      const thrown = findThrowing(at, variables, error)
      this.#sampler.broke(thrown.rule, thrown.error, variables)
      return undecided(this.#stage, 'error', thrown.rule)
    }
    const { allows } = this.#enforced
    for (const allow of allows.slice(allows.indexOf(at))) {
      const rule =
        allow === at ? this.#apart(allow, variables, error) : this.#tried(allow, variables)
      if (rule >= 0) return this.#admitted(allow, rule)
    }
    return undecided(this.#stage, 'no-allow-match', undefined)
  }

  #apart(allow: CompiledRules, variables: Variables, error: unknown): number {
    const thrown = admittingApart(allow, variables, error)
    this.#sampler.broke(thrown.rule, thrown.error, variables)
    return thrown.admitting
  }

  #tried(allow: CompiledRules, variables: Variables): number {
    try {
      return entered(allow, variables).admitting(variables)
    } catch (error) {
      return this.#apart(allow, variables, error)
    }
  }

  /**
   * Whether audit blocks agree with what the enforced rules allowed. A throw counts as agreement.
   */
  #passes({ denies, requires, allows }: Groups, variables: Variables): boolean {
    try {
      for (const deny of denies) if (!entered(deny, variables).decide(variables)) return false
      for (const require of requires) {
        if (!entered(require, variables).decide(variables)) return false
      }
      // If there are enforced Allow rules, one of them has already matched.
      if (this.#enforced.allows.length > 0 || allows.length === 0) return true
      return allows.some((allow) => entered(allow, variables).admitting(variables) >= 0)
    } catch (error) {
      this.#sampler.broke(undefined, error, variables)
      return true
    }
  }

  #tallyOf(allow: CompiledRules, rule: number): Tally {
    const tally = this.#sampler.admitted(placeOf(allow.placed[rule] as PlacedRule))
    allow.tallies[rule] = tally
    return tally
  }

  /** `otherwise`: the result if the rules that decided cannot be explained. */
  #reported(
    isEnforced: boolean,
    groups: RuleGroups,
    variables: Variables,
    otherwise: Decision | undefined,
    denial?: Denial,
  ): Decision | undefined {
    try {
      const { judgement, named } = judge(groups, variables, this.#sampler, denial)
      const isOther = isEnforced && this.#audit !== undefined
      return {
        ...judgement,
        stage: this.#stage,
        isEnforced,
        audited: isOther ? judge(this.#all, variables, SILENT_SAMPLER).judgement : undefined,
        invalid: undefined,
        provider: undefined,
        isSkipped: false,
        attributes: attributesOf(named, this.#all, variables),
      }
    } catch (error) {
      this.#sampler.broke(undefined, error, variables)
      return otherwise
    }
  }

  /**
   * Failures of rules that do not decide go unnoticed, so a few rules are checked from time to
   * time.
   */
  #lookForFailures(variables: Variables): void {
    try {
      this.#sampler.search(() => {
        this.#cursor = reportFailures(this.#all, this.#cursor, variables, this.#sampler)
      })
    } catch (error) {
      this.#sampler.broke(undefined, error, variables)
    }
  }
}

function together(enforced: Groups, audit: Groups): Groups {
  return {
    denies: [...enforced.denies, ...audit.denies],
    requires: [...enforced.requires, ...audit.requires],
    allows: [...enforced.allows, ...audit.allows],
  }
}

interface Members {
  readonly level: ValidPolicy['level']
  readonly scope: Scope | undefined
  readonly members: ValidPolicy<Authorization>[]
}

function byLevel(
  policies: readonly ValidPolicy<Authorization>[],
  context: CompileContext,
): readonly Members[] {
  const all: Members[] = []
  for (const policy of policies) {
    const { level } = policy
    const scope = context.scopeOf(policy)
    const known = all.find((one) => one.level === level && one.scope === scope)
    if (known === undefined) all.push({ level, scope, members: [policy] })
    else known.members.push(policy)
  }
  return all
}

/** Up to this many rules are compiled on the first request that they decide about. */
const FEW = 8

/** A set has a single action and decides for it alone: no Deny, every Require, any Allow. */
function compileLevel(
  policies: readonly ValidPolicy<Authorization>[],
  scope: Scope | undefined,
  context: CompileContext,
  stage: Decision['stage'],
): readonly CompiledRules[] {
  const level: CompiledRules[] = []
  const isFew = policies.reduce((sum, { value }) => sum + value.rules.length, 0) <= FEW
  for (const { action, mode } of kindsOf(policies)) {
    const placed: PlacedRule[] = []
    const all = rulesOf(policies, { action, mode }, context, stage, placed)
    const rules = isFew ? compileFewRules([...all]) : compileRules(all)
    if (placed.length > 0) level.push({ action, mode, rules, placed, scope, tallies: [] })
  }
  return level
}

type Kind = Pick<CompiledRules, 'action' | 'mode'>

function kindsOf(policies: readonly ValidPolicy<Authorization>[]): readonly Kind[] {
  const kinds: Kind[] = []
  for (const { value } of policies) {
    for (const { action } of value.rules) {
      const isKnown = kinds.some((kind) => kind.action === action && kind.mode === value.mode)
      if (!isKnown) kinds.push({ action, mode: value.mode })
    }
  }
  return kinds
}

/** Yields the rules one by one, on demand, and also appends each to `placed`. */
function* rulesOf(
  policies: readonly ValidPolicy<Authorization>[],
  { action, mode }: Kind,
  context: CompileContext,
  stage: Decision['stage'],
  placed: PlacedRule[],
): Generator<PlacedRule> {
  for (const policy of policies) {
    if (policy.value.mode !== mode) continue
    for (const [index, rule] of policy.value.rules.entries()) {
      if (rule.action !== action) continue
      const compiled = compileAt(policy, index, context, stage)
      if (compiled === undefined) continue
      placed.push(compiled)
      yield compiled
    }
  }
}

function compileAt(
  policy: ValidPolicy<Authorization>,
  index: number,
  context: CompileContext,
  stage: Decision['stage'],
): PlacedRule | undefined {
  const { action, expression: text, field } = policy.value.rules[index] as AuthorizationRule
  const expression = context.compileRule(text, { policy, field, stage, result: 'rule' })
  return expression && { action, expression, policy, index }
}
