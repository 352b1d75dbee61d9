import type { Explanation, Stage, Value, Variables } from '../cel/index.ts'
import type { Level, Section } from '../model/policy.ts'

/** A rule and where it was written, for people. */
export interface RulePlace {
  readonly policy: string
  readonly section: Section
  readonly level: Level
  readonly kind: string
  readonly action: 'Allow' | 'Require' | 'Deny'
  /** In its block, from 0. */
  readonly index: number
  /** Within the policy: `rules[2].deny`. */
  readonly field: string
  readonly expression: string
  readonly mode: 'Enforce' | 'Audit'
  readonly origin: string
  /** Of a Require rule: scopes of OAuth with which a request would pass it. */
  readonly scopes?: readonly string[]
}

/** A policy that is invalid, and where it was written. */
export type InvalidPlace = Pick<RulePlace, 'policy' | 'section' | 'level' | 'kind' | 'origin'>

/**
 * What was decided about one connection or request at one stage. There is one for every denial,
 * for what rules in audit mode would have denied, and for a sample of what was allowed.
 */
export interface Decision extends Judgement {
  readonly stage: Exclude<Stage, 'log' | 'response' | 'transform'>
  /** False: it was let through, since only rules in audit mode stood against it. */
  readonly isEnforced: boolean
  /** What all rules say, those in audit mode included; undefined where there are none of these. */
  readonly audited: Judgement | undefined
  /** Of `invalid-policy`: the first of those that deny. */
  readonly invalid: InvalidPlace | undefined
  /** The provider that it is about; undefined where it is about none. */
  readonly provider: string | undefined
  /** The provider was passed over for another one, and the request went on. */
  readonly isSkipped: boolean
  /** What the rules read, as it was then. */
  readonly attributes: readonly Attribute[]
}

/** What a set of rules says, and by which of them. */
export interface Judgement {
  readonly isAllowed: boolean
  readonly cause:
    | 'matched'
    | 'false'
    | 'error'
    | 'unset'
    | 'no-allow-match'
    | 'no-rules'
    | 'invalid-policy'
    | 'pin'
  /** Absent where no Allow rule matched, or where nothing stood against it. */
  readonly rule: RulePlace | undefined
  readonly failure: Failure | undefined
  /** Where no Allow rule matched. */
  readonly nearest: NearMiss | undefined
  readonly search: Search | undefined
}

/** Why an expression came to nothing: what went wrong, or what was not there. */
export interface Failure {
  readonly reason: string | undefined
  readonly variable: string | undefined
  /** Names that are there beside it. */
  readonly present: readonly string[]
}

/** The Allow rule that came nearest, and the conditions that kept it from matching. */
export interface NearMiss {
  readonly rule: RulePlace
  readonly misses: readonly Miss[]
}

export interface Miss {
  readonly condition: string
  readonly wanted: boolean
  readonly cause: 'true' | 'false' | 'error' | 'unset'
  readonly failure: Failure | undefined
}

export interface Search {
  /** Allow rules that were looked at, of how many. */
  readonly rules: number
  readonly of: number
  /** `bounded`: others may be nearer. `skipped`: too much was explained already in this second. */
  readonly extent: 'all' | 'bounded' | 'skipped'
}

export interface Attribute {
  /** `jwt.sub`, `request.headers['x-team']` */
  readonly name: string
  readonly value: Value | undefined
  /** Of what is unset: the first part of it that is not there, `jwt` or `jwt.realm` or all of it. */
  readonly missing: string
  /** The type of what that was looked for in, if it can have no members. */
  readonly within: string | undefined
}

/** Rules of all policies that reach one point, as what decides there. */
export interface Decider {
  /** Undefined: go on, there is nothing to tell. */
  decide(variables: Variables): Decision | undefined
  /** The Allow rule that admits, as it is counted and recorded; of what is allowed alone. */
  admittedBy(variables: Variables): RulePlace | undefined
  /** Every rule in order of evaluation, those in audit mode behind the others of their action. */
  explain(variables: Variables): readonly ExplainedRule[]
}

export interface ExplainedRule {
  readonly rule: RulePlace
  readonly explanation: Explanation
}

/** Who is told of decisions, and how much may be told. */
export interface DecisionSampler {
  /** Of what is allowed, the share that is recorded. */
  readonly share: number
  /** Runs it, unless too much was explained lately. */
  search<T>(work: () => T): T | undefined
  /** Whether it is time to look for rules that fail unseen; asked for every decision. */
  shouldAudit(): boolean
  /** Counts what this rule admits; undefined: no rule stood against it. */
  admitted(rule: RulePlace | undefined): Tally
  /** The rule came to no boolean. */
  failed(rule: RulePlace, why: 'error' | 'unset' | 'not-boolean'): void
  /** Evaluating or explaining rules threw: an error of ours. The rule, where it is known. */
  broke(rule: RulePlace | undefined, error: unknown, variables: Variables): void
}

export interface Tally {
  inc(): void
}

const UNCOUNTED: Tally = { inc: () => {} }

/** Nothing is counted or sampled, and all that is asked is told: for tools. */
export const NO_SAMPLER: DecisionSampler = {
  share: 0,
  search: (work) => work(),
  shouldAudit: () => false,
  admitted: () => UNCOUNTED,
  failed: () => {},
  broke: () => {},
}

/** What an exchange has before anything was decided that is worth telling. */
export const NO_DECISIONS: readonly Decision[] = []
