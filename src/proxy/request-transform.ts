import type { BodyPart } from '../exchange/body-part.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { errorIn } from '../exchange/policy-error.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import type { PlacedPart } from '../program/way-back.ts'
import type { Downstream } from '../wire/downstream.ts'
import { framedHead } from '../wire/http1/framed-head.ts'
import type { RequestHead } from '../wire/http1/head.ts'
import { BodyChain, type ChainEvents } from './body-chain.ts'
import type { KeptBody, Room } from './kept-body.ts'

const TOO_LARGE = { ...reply(413, 'too-large'), detail: 'buffer' }

export interface TransformLimits {
  /** Max bytes of a body that may be held, if a policy does not set a limit. */
  readonly maxBody: number
  readonly room: Room | undefined
}

/** A transformed body: what to send, and how it is framed. */
export interface Transformed {
  readonly head: RequestHead
  /** Undefined if there is none. */
  readonly body: BodyChain | undefined
}

/** The body of one request on its way through the policies that act on it. */
export class RequestTransform {
  readonly chain: BodyChain
  readonly #exchange: Exchange
  readonly #client: Downstream
  readonly #limits: TransformLimits

  constructor(
    exchange: Exchange,
    client: Downstream,
    limits: TransformLimits,
    failed: ChainEvents['failed'],
  ) {
    this.#exchange = exchange
    this.#client = client
    this.#limits = limits
    this.chain = new BodyChain({ drained: () => client.resumeBody(), failed }, limits.room)
  }

  /**
   * Resolves when every policy that waits for some of the body has seen it. `read`: the body, as
   * far as it was read before. Throws the errors of policies.
   */
  async run(
    parts: readonly PlacedPart[],
    read: KeptBody | undefined,
    isOver: () => boolean,
  ): Promise<Transformed | Reply> {
    const { chain } = this
    const client = this.#client
    const wasEmpty = client.head.framing === 'none'
    if (this.#isTooLong(parts)) return TOO_LARGE
    if (wasEmpty) chain.end(undefined)
    else if (read === undefined) client.readBody(chain, false)
    else {
      read.sendTo(chain)
      client.resumeBody()
    }
    for (const { body, policy } of parts) {
      // An empty body has no pieces.
      if (wasEmpty && body?.mode === 'stream') continue
      try {
        const response = body && (await this.#change(body, policy, isOver))
        if (response !== undefined) return response
      } catch (error) {
        throw errorIn(policy, error)
      }
    }
    if (wasEmpty && chain.size === 0) return { head: client.head, body: undefined }
    return { head: this.#framed(), body: chain }
  }

  /** Checked before the body arrives: a client that waits for 100 (Continue) never sends it. */
  #isTooLong(parts: readonly PlacedPart[]): boolean {
    const { framing, length } = this.#client.head
    if (framing !== 'length') return false
    for (const { body } of parts) {
      const isWhole = body?.mode === 'whole'
      const max = isWhole ? (body.maxBytes ?? this.#limits.maxBody) : Number.POSITIVE_INFINITY
      if (isWhole && length > max) return body.whenLonger === 'reject'
      // After this policy, the body may have another length.
      if (body?.mode === 'stream' || (isWhole && body.change)) return false
    }
    return false
  }

  async #change(
    body: BodyPart,
    policy: PlacedPart['policy'],
    isOver: () => boolean,
  ): Promise<Reply | undefined> {
    const { chain } = this
    const exchange = this.#exchange
    if (body.mode === 'stream') {
      chain.add(policy, (flow) => body.open(exchange, flow))
      return undefined
    }
    const isWhole = await chain.collect(body.maxBytes ?? this.#limits.maxBody)
    if (isOver()) return undefined
    if (body.mode === 'beginning')
      return body.look(chain.bytes.subarray(0, body.maxBytes), isWhole, exchange)
    if (!isWhole) return body.whenLonger === 'reject' ? TOO_LARGE : undefined
    const outcome = await body.change?.(chain.bytes, exchange)
    if (outcome === undefined) return undefined
    if (!(outcome instanceof Uint8Array)) return outcome
    chain.replace(outcome)
    return undefined
  }

  /** A complete body has a length; a body that is changed while it flows has none. */
  #framed(): RequestHead {
    const { chain } = this
    const received = this.#client.head
    const isWhole = chain.isWhole && chain.trailers === undefined
    if (!isWhole && !chain.isChanged) return received
    const framing = !isWhole ? 'chunked' : chain.size === 0 ? 'none' : 'length'
    return framedHead(received, framing, isWhole ? chain.size : -1)
  }
}
