import type { RecordedDecision } from './recorded.ts'

/** Statistics of recorded decisions, by rule and by token claim. */
export interface DecisionSummary {
  readonly records: number
  /** The times of the first and the last decision. */
  readonly first: string
  readonly last: string
  /** Number of decisions by the rule that made them; see ruleIdentity. */
  readonly decided: ReadonlyMap<string, Tally>
  /** Names of the claims that tokens had. */
  readonly claims: ReadonlySet<string>
}

export interface Tally {
  readonly allowed: number
  readonly denied: number
}

/** A rule of the Model and a recorded rule are the same if all of this matches. */
export function ruleIdentity(rule: {
  readonly policy: string
  readonly field: string
  readonly action: string
  readonly expression: string
}): string {
  return JSON.stringify([rule.policy, rule.field, rule.action, rule.expression])
}

export function summarise(records: Iterable<RecordedDecision>): DecisionSummary {
  const decided = new Map<string, { allowed: number; denied: number }>()
  const claims = new Set<string>()
  let count = 0
  let first = ''
  let last = ''
  for (const record of records) {
    count++
    if (first === '' || record.time < first) first = record.time
    if (record.time > last) last = record.time
    for (const claim of claimsIn(record)) claims.add(claim)
    if (record.rule === undefined) continue
    const key = ruleIdentity(record.rule)
    const tally = decided.get(key) ?? { allowed: 0, denied: 0 }
    tally[record.verdict]++
    decided.set(key, tally)
  }
  return { records: count, first, last, decided, claims }
}

/**
 * Names of claims only: those that were read and present, and those that were present instead of a
 * missing one.
 */
function* claimsIn({ attributes, variable, present }: RecordedDecision): Generator<string> {
  for (const { name, state } of attributes) {
    const [, claim] = /^jwt\.(\w+)/.exec(name) ?? []
    if (claim !== undefined && state !== 'unset') yield claim
  }
  if (variable !== undefined && /^jwt\.\w+$/.test(variable)) yield* present ?? []
}
