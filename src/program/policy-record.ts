import { renderOrigin } from '../diagnostics/render.ts'
import type { InvalidPlace } from '../exchange/decision.ts'
import type { PolicyPlace } from '../model/policy.ts'

/** A policy for users. Created when it is needed: the policy may have moved to another line. */
export function policyRecordOf(place: PolicyPlace): InvalidPlace {
  const { policy, section, level, kind, origin } = place
  return { policy, section, level, kind, origin: renderOrigin(origin) }
}
