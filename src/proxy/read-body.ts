import type { Exchange } from '../exchange/exchange.ts'
import type { Reply } from '../exchange/reply.ts'
import { reply } from '../exchange/reply.ts'
import { joinedValue } from '../wire/http1/fields.ts'
import { roomFor } from './body-room.ts'
import { decodeBody, isCoded } from './content-coding.ts'
import { KeptBody } from './kept-body.ts'
import type { Port } from './port.ts'
import { OVERLOADED } from './replies.ts'
import type { RequestState } from './request-state.ts'

export interface BodyNeeds {
  /** All of it, so that one which does not fit is rejected. */
  readonly whole: boolean
  /** What stands behind its Content-Encoding. */
  readonly decoded: boolean
}

/** As far as it was kept. */
interface TakenBody {
  /** Undefined: it did not fit. */
  readonly bytes: Uint8Array | undefined
  readonly beginning: Uint8Array | undefined
}

const TOO_LARGE = { ...reply(413, 'too-large'), detail: 'buffer' }

/**
 * Gives a body that was read to the expressions of the request; without bytes it did not fit. A
 * Reply says why it is not taken.
 */
export function takeBody(
  exchange: Exchange,
  { bytes, beginning }: TakenBody,
  coding: string | undefined,
  needs: BodyNeeds & { readonly isLogged: boolean; readonly max: number },
): Reply | undefined | Promise<Reply | undefined> {
  if (bytes === undefined && needs.whole) return TOO_LARGE
  if (bytes !== undefined && isCoded(coding) && (needs.decoded || needs.isLogged)) {
    return decodeBody(exchange, bytes, coding, needs.max, needs.decoded)
  }
  exchange.request.body = bytes
  exchange.bodyBeginning = beginning
  return undefined
}

/**
 * Has the body read before any rule asks for it. One that does not fit is rejected: a rule that
 * cannot read what it guards against would not guard against it. `done` is called once it is there,
 * with what takes it over and says what else is to be said.
 */
export function readBody(
  state: RequestState,
  port: Port,
  needs: BodyNeeds,
  done: (outcome: () => Reply | undefined | Promise<Reply | undefined>) => void,
): void {
  const { maxBody } = port
  const isLogged = state.listener.needs?.requestBody === true
  const { head } = state.downstream
  // A client that waits to be told to send it is told not to.
  if (needs.whole && head.framing === 'length' && head.length > maxBody) {
    head.keepAlive = false
    done(() => TOO_LARGE)
    return
  }
  const take = () => {
    if (body.isCrowdedOut) {
      state.downstream.head.keepAlive = false
      return { ...OVERLOADED, detail: 'buffers' }
    }
    const { bytes } = body
    // Closes behind it: nobody wants what is still to come.
    if (bytes === undefined && needs.whole) state.downstream.head.keepAlive = false
    const coding = joinedValue(state.downstream.head.fields, 'content-encoding')
    return takeBody(state.exchange, body, coding, { ...needs, isLogged, max: maxBody })
  }
  state.exchange.readingLimits = { body: maxBody, json: port.maxJson ?? maxBody }
  const body = new KeptBody(maxBody, () => done(take), roomFor(port.load, maxBody))
  state.body = body
  state.downstream.readBody(body, false)
}
