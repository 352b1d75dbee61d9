import type { DecisionRecord } from './decision-record.ts'
import { hasText } from './decision-text.ts'

export const DECISION_VERDICTS = ['denied', 'rejected', 'skipped', 'would-deny', 'allowed'] as const
export type DecisionVerdict = (typeof DECISION_VERDICTS)[number]

/** Selects records; the newest come first. */
export interface DecisionQuery {
  readonly id?: string
  readonly policy?: string
  /** Any of these. */
  readonly verdict?: readonly DecisionVerdict[]
  readonly stage?: string
  /** RFC 3339; the min and the max time of the records. */
  readonly since?: string
  readonly until?: string
  /** Text that occurs in a record, in any case: see ./decision-text.ts. */
  readonly text?: string
  /** By default, the newest come first. */
  readonly order?: 'oldest-first'
  readonly limit: number
}

/** The records that a search found, and whether it covered everything that is stored. */
export interface FoundDecisions {
  readonly records: readonly DecisionRecord[]
  /** What was not searched; undefined: everything was. */
  readonly incomplete?: string | undefined
}

/** The newest decisions of a process, bounded in number; older ones are discarded. */
export class DecisionRing {
  readonly #capacity: number
  readonly #records: DecisionRecord[] = []
  #next = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  add(record: DecisionRecord): void {
    if (this.#capacity === 0) return
    this.#records[this.#next] = record
    this.#next = (this.#next + 1) % this.#capacity
  }

  find(query: DecisionQuery): readonly DecisionRecord[] {
    const newestFirst = [
      ...this.#records.slice(0, this.#next).reverse(),
      ...this.#records.slice(this.#next).reverse(),
    ]
    return selectDecisions(newestFirst, query)
  }
}

/** Records are sorted, newest first, before the limit is applied. */
export function selectDecisions(
  records: readonly DecisionRecord[],
  query: DecisionQuery,
): readonly DecisionRecord[] {
  const sign = query.order === 'oldest-first' ? -1 : 1
  return records
    .filter((record) => isWanted(record, query))
    .sort((a, b) => (a.time < b.time ? sign : a.time > b.time ? -sign : 0))
    .slice(0, query.limit)
}

function isWanted(record: DecisionRecord, query: DecisionQuery): boolean {
  const { id, policy, verdict, stage, since, until, text } = query
  if (id !== undefined && record.id !== id) return false
  if (policy !== undefined && !policiesOf(record).includes(policy)) return false
  if (stage !== undefined && record.stage !== stage) return false
  if (since !== undefined && Date.parse(record.time) < Date.parse(since)) return false
  if (until !== undefined && Date.parse(record.time) > Date.parse(until)) return false
  if (verdict !== undefined && !verdict.includes(verdictOf(record))) return false
  return text === undefined || hasText(record, text)
}

function verdictOf({ verdict, skipped, enforced }: DecisionRecord): DecisionVerdict {
  if (verdict === 'allowed') return 'allowed'
  if (skipped === true) return 'skipped'
  return verdict === 'denied' && !enforced ? 'would-deny' : verdict
}

function policiesOf(record: DecisionRecord): readonly string[] {
  const { rule, invalid, nearest, audited, credentials, by } = record
  return [rule, invalid, nearest, audited?.rule, credentials, by].flatMap(
    (one) => one?.policy ?? [],
  )
}
