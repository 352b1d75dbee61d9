import { renderOrigin } from '../diagnostics/render.ts'
import type { InvalidPlace } from '../exchange/decision.ts'
import type { PolicyPlace } from '../model/policy.ts'

export type ShowOrigin = (origin: PolicyPlace['origin']) => string

/** For processes that know no lines: the file, the part and the field. */
export const showPart: ShowOrigin = renderOrigin

/** A policy for users. */
export function policyRecordOf(place: PolicyPlace): InvalidPlace {
  const { policy, section, level, kind, origin } = place
  return { policy, section, level, kind, origin }
}
