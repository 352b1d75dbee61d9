import type { Variables } from '../cel/index.ts'
import type { StageVariables } from '../cel/stages.ts'
import { compileDecision } from '../policies/authorization-decision.ts'
import type { Effective } from '../reach/effective.ts'
import { decidesAt, rulesAt } from '../reach/points.ts'
import type { Compilation } from './compilation.ts'
import { type Fault, faultOf, invalidDecider } from './invalid.ts'
import type { NetworkDecision } from './program.ts'

/** Undefined if there are no rules; if one is invalid, all connections are denied. */
export function compileNetwork(
  { contexts }: Compilation,
  { byKind, invalid }: Effective,
): NetworkDecision | undefined {
  const broken = invalid.find((policy) => decidesAt(policy, 'connection'))
  if (broken !== undefined) return nobody(faultOf(broken))
  const policies = rulesAt(byKind, 'connection')
  if (policies === undefined) return undefined
  const context = contexts.open()
  const decider = compileDecision(policies, context)
  const { failed, readsHostname, readsCertificate } = context.findings
  if (failed !== undefined) return nobody(failed)
  return {
    readsHostname,
    readsCertificate,
    decide: (connection) => decider.decide(variablesOf(connection)),
    admittedBy: (connection) => decider.admittedBy(variablesOf(connection)),
    explain: (connection) => decider.explain(variablesOf(connection)),
  }
}

function nobody(fault: Fault): NetworkDecision {
  const { decide, explain } = invalidDecider(fault)
  return {
    readsHostname: false,
    readsCertificate: false,
    decide: (connection) => decide(variablesOf(connection)),
    admittedBy: () => undefined,
    explain: (connection) => explain(variablesOf(connection)),
  }
}

/** A connection has the variables of its stage as fields, just like an exchange. */
function variablesOf(connection: StageVariables<'connection'>): Variables {
  return connection
}
