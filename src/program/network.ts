import type { Variables } from '../cel/index.ts'
import type { Connection } from '../exchange/connection.ts'
import type { Decision } from '../exchange/decision.ts'
import { compileDecision } from '../policies/authorization-decision.ts'
import type { Authorization } from '../policies/authorization-rules.ts'
import type { Attachments } from '../policies/define.ts'
import type { Compilation } from './compilation.ts'
import type { Reaching } from './layers.ts'
import type { NetworkDecision } from './program.ts'

const KIND = 'networkAuthorization'

/** Undefined where there is no rule; where one is invalid, nobody is let in. */
export function compileNetwork(
  { sites }: Compilation,
  { byKind, invalid }: Reaching,
): NetworkDecision | undefined {
  if (invalid.some(({ kind }) => kind === KIND)) return NOBODY
  const policies = byKind.get(KIND) as Attachments<Authorization> | undefined
  if (policies === undefined) return undefined
  const site = sites.open()
  const decider = compileDecision(policies, site)
  const { hasFailed, readsHostname, readsCertificate } = site.findings
  if (hasFailed) return NOBODY
  return {
    readsHostname,
    readsCertificate,
    decide: (connection) => decider.decide(variablesOf(connection)),
    explain: (connection) => decider.explain(variablesOf(connection)),
  }
}

const INVALID: Decision = {
  stage: 'connection',
  isAllowed: false,
  isEnforced: true,
  cause: 'invalid-policy',
  rule: undefined,
  failure: undefined,
  nearest: undefined,
  search: undefined,
  audited: undefined,
  attributes: [],
}

const NOBODY: NetworkDecision = {
  readsHostname: false,
  readsCertificate: false,
  decide: () => INVALID,
  explain: () => [],
}

/** A connection has the variables of its stage as fields, as an exchange has those of its own. */
function variablesOf(connection: Connection): Variables {
  return connection as unknown as Variables
}
