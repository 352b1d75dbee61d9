import type * as z from 'zod'
import type { Expression, Stage, Variables } from '../cel/index.ts'
import type { StageVariables } from '../cel/stages.ts'
import type { Diagnostic, Origin } from '../diagnostics/diagnostic.ts'
import type { Ask } from '../exchange/ask.ts'
import type { BodyPart } from '../exchange/body-part.ts'
import type { BudgetStore } from '../exchange/budget-store.ts'
import type { Decider, DecisionSampler } from '../exchange/decision.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { Scope } from '../exchange/identity.ts'
import type { Quotas } from '../exchange/quota.ts'
import type { HeadChange, ResponseStep } from '../exchange/response-draft.ts'
import type { Step } from '../exchange/step.ts'
import type { Target } from '../model/backend.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { ResultType } from './annotations.ts'
import type { OpenUserTokens } from './backend-auth/user-tokens.ts'
import type { MirrorTarget, Retry, Timeouts } from './delivery.ts'
import type { JwtDeps } from './jwt-authentication/checker.ts'
import type { OpenSignIn } from './oidc/sign-in.ts'

/** One kind of policy at work. Its place in the list of ./schema.ts is its place in the order. */
export interface Policy<S extends z.ZodType = z.ZodType> {
  readonly kind: string
  readonly schema: S
  /**
   * All that is expensive happens here. Of a kind that composes it gets all policies that reach
   * the place, those of the gateway first; of others the one that holds.
   */
  compile(policies: Attachments<z.output<S>>, context: CompileContext): Part
  /**
   * Its value may be conditional, and whatever reads that is not its own business. An entry applies
   * unless its condition is definitely false, or only if it is definitely true: what keeps somebody
   * out applies in doubt, since a client could make a condition fail by leaving out what it reads.
   */
  readonly conditional?: Applies
}

export type Applies = 'unless-false' | 'if-true'

export type Attachments<T> = readonly [ValidPolicy<T>, ...ValidPolicy<T>[]]

/** Attaches limits to the exchange, of which whoever makes the call takes. */
export type Meter = (exchange: Exchange) => void

/** What a policy adds to a route or a backend. */
export interface Part {
  /** On the way to the backend. */
  readonly step?: Step
  /** Of a step that counts: says for which limits a call to a model counts, and counts nothing. */
  readonly meter?: Meter
  /**
   * On the way back, once the head of the backend's response is there, or a response of the
   * gateway itself; in the reverse of the order of execution.
   */
  readonly response?: ResponseStep
  /** On heads that `response` does not see: those before the response (103), and of upgrades (101). */
  readonly otherHead?: HeadChange
  /** On the body, after all steps let the request pass. */
  readonly requestBody?: BodyPart
  /** On the body, after `response` of the same policy; a whole one is there before it. */
  readonly responseBody?: BodyPart
  /** What the step decides by, for whoever wants to know more than its response. */
  readonly decider?: Decider
  readonly timeouts?: Timeouts
  readonly retry?: Retry
  readonly mirrors?: readonly MirrorTarget[]
}

/** What a policy is given while it is compiled. */
export interface CompileContext {
  /** Monotonic milliseconds. */
  readonly now: () => number
  readonly sampler: DecisionSampler
  /**
   * Undefined after an error, which is reported with its place; the policy then denies what it
   * guards, whatever it compiles to. Wherever it runs, it sees who asks as its own policy does.
   */
  compile(text: string, place: ExpressionPlace): PolicyExpression | undefined
  /** The same for one of many, whose set enters the scope of its policy once for all of them. */
  compileRule(text: string, place: ExpressionPlace): Expression | undefined
  /** Who asks, as the policy sees it; undefined where nothing around it finds that out. */
  scopeOf(policy: ValidPolicy): Scope | undefined
  /** Made once for the same policies, however many routes they reach. */
  shared<T>(policies: readonly ValidPolicy[], make: () => T): T
  /**
   * What lives on across reloads as long as the policy stays the same; `part` tells several things
   * of one policy apart. What has a `close` is closed when no Program has it any more. `key` is the
   * same in every process that serves the same Model.
   */
  kept<T>(policy: ValidPolicy, make: (key: string) => T, part?: string): T
  /** Says what is wrong with a policy that serves all the same. */
  report(diagnostic: Diagnostic): void
  readonly policyDeps: PolicyDeps
  /** How to ask the service behind a target; where there is none, each question says so. */
  connect(target: Target, policy: ValidPolicy, version: '1.1' | '2'): Ask
}

/** What policies that look outside are given; by default, that of the system. */
export interface PolicyDeps extends Partial<JwtDeps> {
  /** Limits that several processes share; without it, this process is all there is. */
  readonly quotas?: Quotas
  /** Sessions of people who sign in; without it, nobody does. */
  readonly signIn?: OpenSignIn
  /** Tokens of users for backends; without it, nobody has one. */
  readonly userTokens?: OpenUserTokens
  /** Variables that credentials of clouds are found by; by default, those of the process. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** What was used of budgets, where this process is all there is; by default in memory. */
  readonly budgets?: BudgetStore
}

export type PolicyExpression = Pick<Expression, 'term' | 'reads' | 'evaluate' | 'predicate'>

export interface ExpressionPlace {
  readonly policy: ValidPolicy
  /** Within the policy: `rules[2].deny`. */
  readonly field: string
  readonly result: ResultType
  /** Exactly where, if the source said so. */
  readonly origin?: Origin | undefined
  /** Where it is not that of the section. */
  readonly stage?: Stage
  /** `response` is not that of the backend, whose body nobody has to keep for it. */
  readonly hasOwnResponse?: boolean
}

/** Whatever its values are, the schema has made sure of them before. */
export function definePolicy<S extends z.ZodType>(policy: Policy<S>): Policy {
  return policy
}

/** An exchange has the variables of expressions as fields; the checker lets no other name pass. */
export function variablesOf(exchange: StageVariables): Variables {
  return exchange
}
