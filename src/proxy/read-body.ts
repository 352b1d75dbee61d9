import type { Exchange } from '../exchange/exchange.ts'
import type { Reply } from '../exchange/reply.ts'
import { reply } from '../exchange/reply.ts'
import { joinedValue } from '../wire/http1/fields.ts'
import { modelRoomFor, roomFor } from './body-room.ts'
import { decodeBody, isCoded } from './content-coding.ts'
import { KeptBody } from './kept-body.ts'
import type { Port } from './port.ts'
import { OVERLOADED } from './replies.ts'
import type { RequestState } from './request-state.ts'

export interface BodyNeeds {
  /** The body must be complete: one that does not fit is rejected. */
  readonly whole: boolean
  /** The body is needed without its Content-Encoding. */
  readonly decoded: boolean
  /** It is a call to a model, which may be longer. */
  readonly isCall?: boolean
}

/** As far as the body was kept. */
interface TakenBody {
  /** Undefined if it did not fit. */
  readonly bytes: Uint8Array | undefined
  readonly beginning: Uint8Array | undefined
}

const CROWDED = { ...OVERLOADED, detail: 'buffers' }

/** The reply to a body that does not fit; it names the setting that says so. */
function tooLarge(max: number, isCall: boolean | undefined): Reply {
  const field = isCall === true ? 'maxModelBodySize' : 'maxBufferSize'
  const message = `The body is longer than ${max} bytes (frontendPolicies.http.${field}).`
  return { ...reply(413, 'too-large'), detail: 'buffer', message }
}

/**
 * Provides a body that was read to the expressions of the request; without bytes it did not fit.
 * Returns a Reply if the body is rejected.
 */
export function takeBody(
  exchange: Exchange,
  { bytes, beginning }: TakenBody,
  coding: string | undefined,
  needs: BodyNeeds & { readonly isLogged: boolean; readonly max: number },
): Reply | undefined | Promise<Reply | undefined> {
  if (bytes === undefined && needs.whole) return tooLarge(needs.max, needs.isCall)
  if (bytes !== undefined && isCoded(coding) && (needs.decoded || needs.isLogged)) {
    return decodeBody(exchange, bytes, coding, needs.max, needs.decoded)
  }
  exchange.request.body = bytes
  exchange.bodyBeginning = beginning
  return undefined
}

/**
 * Reads the body before any rule needs it. A body that does not fit is rejected: a rule that cannot
 * read what it guards against would not guard against it. `done` is called once the body is read,
 * with a function that provides it to expressions, or returns a Reply.
 */
export function readBody(
  state: RequestState,
  port: Port,
  needs: BodyNeeds,
  done: (outcome: () => Reply | undefined | Promise<Reply | undefined>) => void,
): void {
  const { maxBody: maxRead, maxModelBody = maxRead, load } = port
  const { isCall = false } = needs
  const maxBody = isCall ? maxModelBody : maxRead
  const isLogged = state.listener.needs?.requestBody === true
  const { head } = state.downstream
  // A client that waits for 100 (Continue) is rejected before it sends the body.
  if (needs.whole && head.framing === 'length' && head.length > maxBody) {
    head.keepAlive = false
    done(() => tooLarge(maxBody, isCall))
    return
  }
  const take = () => {
    if (body.isCrowdedOut) {
      state.downstream.head.keepAlive = false
      return CROWDED
    }
    const { bytes } = body
    // The connection closes afterwards: the rest of the body is not needed.
    if (bytes === undefined && needs.whole) state.downstream.head.keepAlive = false
    const coding = joinedValue(state.downstream.head.fields, 'content-encoding')
    const taking = takeBody(state.exchange, body, coding, { ...needs, isLogged, max: maxBody })
    return taking instanceof Promise ? taking.then(counted) : taking
  }
  const counted = (outcome: Reply | undefined): Reply | undefined => {
    const { request, codedBody } = state.exchange
    const decoded = request.body === codedBody ? undefined : request.body
    if (outcome !== undefined || decoded === undefined || body.retain(decoded.length))
      return outcome
    request.body = undefined
    // A log can do without it.
    return needs.decoded ? CROWDED : undefined
  }
  state.exchange.readingLimits = { body: maxRead, json: port.maxJson ?? maxRead }
  const room = isCall ? modelRoomFor(load, maxRead, maxModelBody) : roomFor(load, maxRead)
  const body = new KeptBody(maxBody, () => done(take), room)
  state.body = body
  state.downstream.readBody(body, false)
}
