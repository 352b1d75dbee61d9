import type { DecisionRecord } from './decision-record.ts'

/** Selects records; the newest come first. */
export interface DecisionQuery {
  readonly id?: string
  readonly policy?: string
  readonly verdict?: 'allowed' | 'denied' | 'skipped' | 'would-deny'
  readonly stage?: string
  /** RFC 3339; the min time of the records. */
  readonly since?: string
  readonly limit: number
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
  return records
    .filter((record) => isWanted(record, query))
    .sort((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : 0))
    .slice(0, query.limit)
}

function isWanted(record: DecisionRecord, query: DecisionQuery): boolean {
  const { id, policy, verdict, stage, since } = query
  if (id !== undefined && record.id !== id) return false
  if (policy !== undefined && !policiesOf(record).includes(policy)) return false
  if (stage !== undefined && record.stage !== stage) return false
  if (since !== undefined && Date.parse(record.time) < Date.parse(since)) return false
  if (verdict === undefined) return true
  if (verdict === 'allowed') return record.verdict === 'allowed'
  if (verdict === 'skipped' || record.skipped === true) {
    return verdict === 'skipped' && record.skipped === true
  }
  return record.verdict === 'denied' && record.enforced === (verdict === 'denied')
}

function policiesOf(record: DecisionRecord): readonly string[] {
  const { rule, invalid, nearest, audited, credentials } = record
  return [rule, invalid, nearest, audited?.rule, credentials].flatMap((one) => one?.policy ?? [])
}
