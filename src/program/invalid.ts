import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Decider, Decision, ExplainSteps } from '../exchange/decision.ts'
import { reply } from '../exchange/reply.ts'
import type { Step } from '../exchange/step.ts'
import type { InvalidPolicy, PolicyPlace } from '../model/policy.ts'
import { STAGE_OF_SECTION } from '../policies/expressions.ts'
import { policyRecordOf } from './policy-record.ts'

/** An invalid policy, which therefore denies everything it guards. */
export interface Fault {
  readonly policy: PolicyPlace
  /** The first error in it. */
  readonly diagnostic: Diagnostic | undefined
}

export function faultOf(policy: InvalidPolicy): Fault {
  const { diagnostics } = policy
  const error = diagnostics.find(({ severity }) => severity === 'error')
  return { policy, diagnostic: error ?? diagnostics[0] }
}

/** Denies everything: no rule is evaluated. */
export function invalidDecider(fault: Fault): Decider {
  return { decide: () => decisionOf(fault), admittedBy: () => undefined, explain: noRules }
}

/** There is nothing to explain. */
function* noRules(): ExplainSteps {
  yield
  return []
}

const INVALID = reply(500, 'invalid-policy')

/** The log names the policy; the client never learns it. */
export function invalidStep(fault: Fault): Step {
  const response = { ...INVALID, detail: `${fault.policy.policy} ${fault.policy.kind}` }
  return (exchange) => {
    exchange.decisions = [...exchange.decisions, decisionOf(fault)]
    return response
  }
}

/** Created for each denied request: the policy may have moved to another line. */
function decisionOf({ policy, diagnostic }: Fault): Decision {
  const reason = diagnostic && `${diagnostic.code}: ${diagnostic.message}`
  return {
    stage: STAGE_OF_SECTION[policy.section] as Decision['stage'],
    isAllowed: false,
    isEnforced: true,
    cause: 'invalid-policy',
    rule: undefined,
    failure: { reason, variable: undefined, present: [] },
    nearest: undefined,
    search: undefined,
    audited: undefined,
    invalid: policyRecordOf(policy),
    provider: undefined,
    isSkipped: false,
    attributes: [],
  }
}
