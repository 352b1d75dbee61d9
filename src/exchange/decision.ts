import type { Explanation, Stage, Value, Variables } from '../cel/index.ts'
import type { Level, PolicyPlace, Section } from '../model/policy.ts'

/** A rule and where it is defined, for users. */
export interface RulePlace {
  readonly policy: string
  readonly section: Section
  readonly level: Level
  readonly kind: string
  readonly action: 'Allow' | 'Require' | 'Deny'
  /** Position in its block, from 0. */
  readonly index: number
  /** Path within the policy: `rules[2].deny`. */
  readonly field: string
  readonly expression: string
  readonly mode: 'Enforce' | 'Audit'
  readonly origin: PolicyPlace['origin']
  /** For a Require rule: the OAuth scopes with which a request would pass it. */
  readonly scopes?: readonly string[]
}

/** An invalid policy and where it is defined. */
export type InvalidPlace = Pick<RulePlace, 'policy' | 'section' | 'level' | 'kind' | 'origin'>

/**
 * The decision about one connection or request at one stage. Recorded for every denial, for
 * requests that rules in audit mode would have denied, and for a sample of allowed requests.
 */
export interface Decision extends Judgement {
  readonly stage: Exclude<Stage, 'log' | 'response' | 'transform'>
  /** False if the request was allowed because only rules in audit mode would have denied it. */
  readonly isEnforced: boolean
  /**
   * The judgement of all rules, including those in audit mode; undefined if there are none of
   * these.
   */
  readonly audited: Judgement | undefined
  /** For `invalid-policy`: the first of the invalid policies that deny. */
  readonly invalid: InvalidPlace | undefined
  /** The provider that the decision is about; undefined if it is not about a provider. */
  readonly provider: string | undefined
  /** The provider was skipped in favor of another one, and the request continued. */
  readonly isSkipped: boolean
  /** The attributes that the rules read, with their values at that time. */
  readonly attributes: readonly Attribute[]
}

/** The verdict of a set of rules, and which of them decided. */
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
  /** Absent if no Allow rule matched, or if no rule objected. */
  readonly rule: RulePlace | undefined
  readonly failure: Failure | undefined
  /** Set if no Allow rule matched. */
  readonly nearest: NearMiss | undefined
  readonly search: Search | undefined
}

/** Why an expression has no result: the error, or the missing variable. */
export interface Failure {
  readonly reason: string | undefined
  readonly variable: string | undefined
  /** Names of the siblings that are present. */
  readonly present: readonly string[]
}

/** The Allow rule that came closest to matching, and the conditions that failed. */
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
  /** The number of Allow rules examined, and of Allow rules in total. */
  readonly rules: number
  readonly of: number
  /**
   * `bounded`: others may be nearer. `skipped`: the budget for explanations of this second is used
   * up.
   */
  readonly extent: 'all' | 'bounded' | 'skipped'
}

export interface Attribute {
  /** `jwt.sub`, `request.headers['x-team']` */
  readonly name: string
  readonly value: Value | undefined
  /** If unset: the first missing part of the path, such as `jwt`, `jwt.realm` or the whole path. */
  readonly missing: string
  /** The type of the value in which it was looked up, if values of that type have no members. */
  readonly within: string | undefined
}

/** The rules of all policies that apply at one point, compiled. */
export interface Decider {
  /** Undefined: the request continues and there is nothing to record. */
  decide(variables: Variables): Decision | undefined
  /** The Allow rule that admits an allowed request, for metrics and records. */
  admittedBy(variables: Variables): RulePlace | undefined
  /**
   * Every rule in order of evaluation; audit rules follow the enforced rules of the same action.
   * One step for each: there may be thousands.
   */
  explain(variables: Variables): ExplainSteps
}

export type ExplainSteps = Generator<void, readonly ExplainedRule[]>

export interface ExplainedRule {
  readonly rule: RulePlace
  readonly explanation: Explanation
}

/** Controls how many decisions are recorded and explained, and counts rule outcomes. */
export interface DecisionSampler {
  /** The share of allowed requests that is recorded. */
  readonly share: number
  /** Runs `work`, unless the budget for explanations is used up. */
  search<T>(work: () => T): T | undefined
  /** Whether to look for rules that fail unnoticed; called for every decision. */
  shouldAudit(): boolean
  /** The counter of requests that this rule admits; undefined: there was no rule to object. */
  admitted(rule: RulePlace | undefined): Tally
  /** Reports that the result of the rule is not a boolean. */
  failed(rule: RulePlace, why: 'error' | 'unset' | 'not-boolean'): void
  /**
   * Reports that evaluating or explaining rules threw, which is a bug. The rule is set if known.
   */
  broke(rule: RulePlace | undefined, error: unknown, variables: Variables): void
}

export interface Tally {
  inc(): void
}

const UNCOUNTED: Tally = { inc: () => {} }

/** Counts and samples nothing, and allows every explanation: for tools. */
export const NO_SAMPLER: DecisionSampler = {
  share: 0,
  search: (work) => work(),
  shouldAudit: () => false,
  admitted: () => UNCOUNTED,
  failed: () => {},
  broke: () => {},
}

/** The decisions of an exchange before there is one to record. */
export const NO_DECISIONS: readonly Decision[] = []
