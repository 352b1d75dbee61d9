import { type Places, readOrigin } from '../diagnostics/places.ts'
import type { DecisionRecord } from '../telemetry/decision-record.ts'

/** The record of a worker, which does not know lines, with the places of its policies. */
export function locatedRecord(record: DecisionRecord, places: Places): DecisionRecord {
  const placed = <T extends { readonly origin: string }>(policy: T): T => {
    const origin = readOrigin(places, policy.origin)
    return { ...policy, origin }
  }
  const { rule, nearest, audited, invalid, by } = record
  return {
    ...record,
    ...(rule && { rule: placed(rule) }),
    ...(nearest && { nearest: placed(nearest) }),
    ...(audited?.rule && { audited: { ...audited, rule: placed(audited.rule) } }),
    ...(invalid && { invalid: placed(invalid) }),
    ...(by && { by: placed(by) }),
  }
}
