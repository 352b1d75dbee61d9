import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { renderOrigin } from '../diagnostics/render.ts'
import type { Decider, Decision } from '../exchange/decision.ts'
import { reply } from '../exchange/reply.ts'
import type { Step } from '../exchange/step.ts'
import type { InvalidPolicy, PolicyPlace } from '../model/policy.ts'
import { STAGE_OF_SECTION } from '../policies/expressions.ts'

/** A policy that cannot hold, and therefore denies what it guards. */
export interface Fault {
  readonly policy: PolicyPlace
  /** The first thing that is wrong with it. */
  readonly diagnostic: Diagnostic | undefined
}

export function faultOf(policy: InvalidPolicy): Fault {
  const { diagnostics } = policy
  const error = diagnostics.find(({ severity }) => severity === 'error')
  return { policy, diagnostic: error ?? diagnostics[0] }
}

/** The same for everything that asks: no rule is looked at. */
export function invalidDecider(fault: Fault): Decider {
  return { decide: () => decisionOf(fault), admittedBy: () => undefined, explain: () => [] }
}

const INVALID = reply(500, 'invalid-policy')

/** The log says which policy; the client never learns. */
export function invalidStep(fault: Fault): Step {
  const response = { ...INVALID, detail: `${fault.policy.policy} ${fault.policy.kind}` }
  return (exchange) => {
    exchange.decisions = [...exchange.decisions, decisionOf(fault)]
    return response
  }
}

/** Made for each request that is denied: the policy may be on another line than before. */
function decisionOf({ policy, diagnostic }: Fault): Decision {
  const { policy: name, section, level, kind, origin } = policy
  const reason = diagnostic && `${diagnostic.code}: ${diagnostic.message}`
  return {
    stage: STAGE_OF_SECTION[section] as Decision['stage'],
    isAllowed: false,
    isEnforced: true,
    cause: 'invalid-policy',
    rule: undefined,
    failure: { reason, variable: undefined, present: [] },
    nearest: undefined,
    search: undefined,
    audited: undefined,
    invalid: { policy: name, section, level, kind, origin: renderOrigin(origin) },
    provider: undefined,
    isSkipped: false,
    attributes: [],
  }
}
