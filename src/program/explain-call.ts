import type { ReadingLimits } from '../cel/values/ledger.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { type AttachedGuardrails, NO_GUARDRAILS } from '../exchange/guardrails.ts'
import type { Reply } from '../exchange/reply.ts'
import { type Guardrails, rejectsResponses } from '../policies/guardrails/schema.ts'
import { ModelCall } from './model-call.ts'
import type { BackendProgram, Candidate } from './program.ts'

/** The body as read for the rules. */
export interface HypotheticalBody {
  /** The decoded content, as far as it is read. */
  readonly content: Uint8Array | undefined
  /** The reply if the body is rejected. */
  readonly rejected: Reply | undefined
  readonly limits: ReadingLimits
  /** Bytes as sent; undefined if unknown. */
  readonly size?: number
}

/** A request to an AI backend, as far as it can be derived from the hypothetical request. */
export interface Called {
  readonly call?: ModelCall
  readonly candidates?: readonly Candidate[]
  readonly late?: Reply
  readonly unknown?: string
}

/** Reads a protocol message before rules about it are evaluated. */
export function describedAt(
  { describe }: BackendProgram,
  exchange: Exchange,
  sent: HypotheticalBody | undefined,
): Called | undefined {
  const bad = describe?.(exchange)
  if (bad === undefined) return undefined
  // The content of a body that was not given is unknown.
  if (sent !== undefined || !HAS_BODY.has(exchange.request.method)) return { late: bad }
  return { unknown: 'the message is unknown because no body was given' }
}

const HAS_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])

/** A call to a model names the model in its body. */
export function calledAt(
  { upstream }: BackendProgram,
  exchange: Exchange,
  body: HypotheticalBody | undefined,
): Called {
  if (upstream.kind !== 'ai') return {}
  const call = upstream.open(exchange)
  if (call === undefined) return {}
  if (!(call instanceof ModelCall)) return { late: call }
  if (body === undefined) {
    const hasPrices = !upstream.choosesByModel && !upstream.providers.some((one) => one.readsModel)
    return hasPrices ? {} : { unknown: 'the model is unknown because no body was given' }
  }
  const bad = body.rejected ?? call.read(body.content, exchange)
  if (bad !== undefined) return { late: bad }
  const candidates = upstream.candidates(exchange, call)
  if ('status' in candidates) return { late: candidates }
  const targets = candidates.map(({ target }) => target)
  const unpriced = call.unpriced(exchange, targets)
  if (unpriced === undefined) return { call, candidates }
  const hasPrices = targets.some(({ prices }) => prices !== undefined)
  return hasPrices ? { late: unpriced } : { unknown: 'the price of the model is unknown' }
}

/** The outcome of a call after the rules; empty if it is sent. */
export interface Prepared {
  readonly late?: Reply | undefined
  readonly unknown?: string | undefined
}

/** The reply if none of the providers that the rules allow can be sent the call. */
export function unprepared(
  { call, candidates = [] }: Called,
  allowed: ReadonlySet<string>,
  exchange: Exchange,
): Prepared {
  if (call === undefined) return {}
  let late: Reply | undefined
  for (const { program, target } of candidates) {
    if (!allowed.has(program.provider)) continue
    exchange.guardrails = NO_GUARDRAILS
    program.attachGuards?.(exchange)
    // If local guards reject the call, the outcome is the same whatever a service responds.
    const prepared = call.prepare(exchange, target, 'without-services')
    if (!('status' in prepared)) return { unknown: unknownGuard(exchange) }
    late ??= prepared
  }
  return { late }
}

/** Describes guards that may still reject the call although none has so far; undefined if none. */
export function unknownGuard(
  { guardrails }: Exchange,
  asks = ({ webhooks }: AttachedGuardrails) => webhooks.size > 0,
): string | undefined {
  const asking = guardrails.find(asks)
  if (asking !== undefined)
    return `it depends on the service of \`guardrails\` of \`${asking.policy}\``
  const rejecting = guardrails.find(({ value }) => rejectsResponses(value as Guardrails))
  return (
    rejecting &&
    `it depends on the response, which \`guardrails\` of \`${rejecting.policy}\` can reject`
  )
}
