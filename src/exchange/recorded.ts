import type { Reply } from './reply.ts'

/** Makes the decision record of a response of the gateway itself, if the response rejects. */
export interface ReplyRecorder<S> {
  responding(state: S, reply: Reply, status: number): void
}

/** Makes the decision record of something that was rejected before there was an exchange. */
export interface RejectionRecorder<A extends readonly unknown[]> {
  requestRejected(...rejected: A): void
}

/**
 * Proof that a response of the gateway itself has a decision record if it rejects. The functions
 * that write such a response to a client require it, and only the call of a recorder returns it:
 * code that rejects a request without a record does not compile. There is one object, so that none
 * is allocated.
 */
export class Recorded {
  declare protected readonly isRecorded: true

  static readonly #only = new Recorded()

  private constructor() {
    Object.freeze(this)
  }

  /** `status`: what the client receives. */
  static reply<S>(recorder: ReplyRecorder<S>, state: S, reply: Reply, status: number): Recorded {
    recorder.responding(state, reply, status)
    return Recorded.#only
  }

  static rejection<A extends readonly unknown[]>(
    recorder: RejectionRecorder<A>,
    ...rejected: A
  ): Recorded {
    recorder.requestRejected(...rejected)
    return Recorded.#only
  }

  static connection<R>(recorder: { rejected(rejected: R): void }, rejected: R): Recorded {
    recorder.rejected(rejected)
    return Recorded.#only
  }

  /** The recorder itself threw; `error` is reported, and the client gets 500. */
  static broken(_error: unknown): Recorded {
    return Recorded.#only
  }
}
