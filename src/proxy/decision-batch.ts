import type { DecisionRecord } from '../telemetry/decision-record.ts'

/** Max milliseconds that a record waits, and max number of records that wait. */
const INTERVAL = 50
const MAX_RECORDS = 2_000

export interface Batch {
  readonly records: readonly DecisionRecord[]
  /** Records that did not fit since the last batch. */
  readonly dropped: number
}

/** Records of a worker on their way to the process that writes the file. */
export class DecisionBatch {
  readonly #send: (batch: Batch, sent: () => void) => void
  #records: DecisionRecord[] = []
  #dropped = 0
  #timer: NodeJS.Timeout | undefined
  #isSending = false

  /** `send` calls back when the batch is sent; no other batch is sent before. */
  constructor(send: (batch: Batch, sent: () => void) => void) {
    this.#send = send
  }

  add(record: DecisionRecord): void {
    if (this.#records.length < MAX_RECORDS) this.#records.push(record)
    else this.#dropped++
    this.#timer ??= setTimeout(() => this.flush(), INTERVAL).unref()
  }

  /** Calls back when everything is sent. */
  flush(done: () => void = () => {}): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#isSending) {
      this.#timer = setTimeout(() => this.flush(done), INTERVAL)
      return
    }
    if (this.#records.length === 0 && this.#dropped === 0) {
      done()
      return
    }
    const batch = { records: this.#records, dropped: this.#dropped }
    this.#records = []
    this.#dropped = 0
    this.#isSending = true
    this.#send(batch, () => {
      this.#isSending = false
      done()
    })
  }
}
