import type * as z from 'zod'
import type { Expression, Stage, Variables } from '../cel/index.ts'
import type { StageVariables } from '../cel/stages.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { BodyPart } from '../exchange/body-part.ts'
import type { BudgetStore } from '../exchange/budget-store.ts'
import type { Decider, DecisionSampler } from '../exchange/decision.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { Scope } from '../exchange/identity.ts'
import type { Quotas } from '../exchange/quota.ts'
import type { HeadChange, ResponseStep } from '../exchange/response-draft.ts'
import type { CallService } from '../exchange/service-call.ts'
import type { Step } from '../exchange/step.ts'
import type { Target } from '../model/backend.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { ResultType } from './annotations.ts'
import type { OpenUserTokens } from './backend-auth/user-tokens.ts'
import type { MirrorTarget, Retry, Timeouts } from './delivery.ts'
import type { JwtDeps } from './jwt-authentication/checker.ts'
import type { OpenSignIn } from './oidc/sign-in.ts'

/**
 * A kind of policy. Its position in the list of ./schema.ts is its position in the execution order.
 */
export interface Policy<S extends z.ZodType = z.ZodType> {
  readonly kind: string
  readonly schema: S
  /**
   * Does all expensive work. A kind that composes gets all policies that apply at the place, those
   * of the gateway first; other kinds get the effective one.
   */
  compile(policies: Attachments<z.output<S>>, context: CompileContext): Part
  /**
   * The value may be conditional, which the policy itself does not see. An entry applies unless its
   * condition is definitely false, or only if it is definitely true: policies that restrict access
   * apply when in doubt, since a client could make a condition fail by omitting what it reads.
   */
  readonly conditional?: Applies
}

export type Applies = 'unless-false' | 'if-true'

export type Attachments<T> = readonly [ValidPolicy<T>, ...ValidPolicy<T>[]]

/** Attaches limits to the exchange, which the code that makes the call charges. */
export type Meter = (exchange: Exchange) => void

/** What a policy adds to a route or a backend. */
export interface Part {
  /** Runs on the request path. */
  readonly step?: Step
  /**
   * For a step that counts: attaches the limits that apply to a call to a model, and counts
   * nothing.
   */
  readonly meter?: Meter
  /**
   * Runs on the response path, once the head of the backend's response or a response of the gateway
   * is available; in reverse execution order.
   */
  readonly response?: ResponseStep
  /** Processes heads that `response` does not see: interim responses (103) and upgrades (101). */
  readonly otherHead?: HeadChange
  /** Processes the body, after all steps have allowed the request. */
  readonly requestBody?: BodyPart
  /**
   * Processes the body after `response` of the same policy; a whole body is available before it.
   */
  readonly responseBody?: BodyPart
  /** The rules behind the step, for callers that need more than its response. */
  readonly decider?: Decider
  readonly timeouts?: Timeouts
  readonly retry?: Retry
  readonly mirrors?: readonly MirrorTarget[]
}

/** What a policy can use while it is compiled. */
export interface CompileContext {
  /** Monotonic time in milliseconds. */
  readonly now: () => number
  readonly sampler: DecisionSampler
  /**
   * Undefined after an error, which is reported with its location; the policy then denies whatever
   * it guards, whatever it compiles to. The expression always sees the identities that its policy
   * sees.
   */
  compile(text: string, place: ExpressionPlace): PolicyExpression | undefined
  /**
   * The same for one of many rules, whose set enters the scope of the policy once for all of them.
   */
  compileRule(text: string, place: ExpressionPlace): Expression | undefined
  /** The identities that the policy sees; undefined if no authentication applies around it. */
  scopeOf(policy: ValidPolicy): Scope | undefined
  /** Created once for the same policies, however many routes they apply to. */
  shared<T>(policies: readonly ValidPolicy[], make: () => T): T
  /**
   * State that survives reloads as long as the policy is unchanged; `part` distinguishes several
   * states of one policy. A state with a `close` method is closed when no Program uses it any
   * longer. `key` is the same in every process that serves the same Model.
   */
  kept<T>(policy: ValidPolicy, make: (key: string) => T, part?: string): T
  /** Reports a problem of a policy that remains in effect. */
  report(diagnostic: Diagnostic): void
  readonly policyDeps: PolicyDeps
  /** Returns the function that calls the service at a target; if there is none, each call fails. */
  connect(target: Target, policy: ValidPolicy, version: '1.1' | '2'): CallService
}

/** External dependencies of policies; those of the system by default. */
export interface PolicyDeps extends Partial<JwtDeps> {
  /** Limits that several processes share; absent in a process that serves alone. */
  readonly quotas?: Quotas
  /** Sessions of users who sign in; without it, no user can sign in. */
  readonly signIn?: OpenSignIn
  /** Tokens of users for backends; without it, no user has a token. */
  readonly userTokens?: OpenUserTokens
  /** Environment variables for cloud credentials; those of the process by default. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Usage of budgets, in a process that serves alone; in memory by default. */
  readonly budgets?: BudgetStore
}

export type PolicyExpression = Pick<Expression, 'term' | 'reads' | 'evaluate' | 'predicate'>

export interface ExpressionPlace {
  readonly policy: ValidPolicy
  /** Path within the policy: `rules[2].deny`. */
  readonly field: string
  readonly result: ResultType
  /** Set if it differs from the stage of the section. */
  readonly stage?: Stage
  /** `response` is not the backend's, so the body of that need not be buffered. */
  readonly hasOwnResponse?: boolean
}

/** Erases the type of the value, which the schema has already validated. */
export function definePolicy<S extends z.ZodType>(policy: Policy<S>): Policy {
  return policy
}

/** Expression variables are fields of an exchange; the checker rejects all other names. */
export function variablesOf(exchange: StageVariables): Variables {
  return exchange
}
