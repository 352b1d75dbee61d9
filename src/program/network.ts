import type { Variables } from '../cel/index.ts'
import type { Connection } from '../exchange/connection.ts'
import type { ValidPolicy } from '../model/policy.ts'
import { compileDecision } from '../policies/authorization-decision.ts'
import type { Authorization } from '../policies/authorization-rules.ts'
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
  const policies = byKind.get(KIND) as readonly ValidPolicy<Authorization>[] | undefined
  if (policies === undefined) return undefined
  const site = sites.open()
  const decide = compileDecision(policies, site)
  if (site.findings.hasFailed) return NOBODY
  return {
    readsHostname: site.findings.readsHostname,
    accepts: (connection) => decide(variablesOf(connection)),
  }
}

const NOBODY: NetworkDecision = { readsHostname: false, accepts: () => false }

/** A connection has the variables of its stage as fields, as an exchange has those of its own. */
function variablesOf(connection: Connection): Variables {
  return connection as unknown as Variables
}
