import type { DecisionRecord } from '../telemetry/decision-record.ts'

/** Milliseconds that a record waits at most, and records that wait at most. */
const INTERVAL = 50
const MAX_RECORDS = 2_000

export interface Batch {
  readonly records: readonly DecisionRecord[]
  /** What did not fit in between. */
  readonly dropped: number
}

/** Records of a worker on their way to the process that writes the file. */
export class DecisionBatch {
  readonly #send: (batch: Batch, sent: () => void) => void
  #records: DecisionRecord[] = []
  #dropped = 0
  #timer: NodeJS.Timeout | undefined
  #isSending = false

  /** `send` says when the batch is gone: until then no other goes. */
  constructor(send: (batch: Batch, sent: () => void) => void) {
    this.#send = send
  }

  add(record: DecisionRecord): void {
    if (this.#records.length < MAX_RECORDS) this.#records.push(record)
    else this.#dropped++
    this.#timer ??= setTimeout(() => this.flush(), INTERVAL).unref()
  }

  /** Calls back when all is gone. */
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
