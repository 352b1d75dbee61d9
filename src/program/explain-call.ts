import type { ReadingLimits } from '../cel/values/ledger.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { type AttachedGuardrails, NO_GUARDRAILS } from '../exchange/guardrails.ts'
import type { Reply } from '../exchange/reply.ts'
import type { Guardrails } from '../policies/guardrails/schema.ts'
import { ModelCall } from './model-call.ts'
import type { BackendProgram, Candidate } from './program.ts'

/** A body, as whoever reads it for the rules left it. */
export interface HypotheticalBody {
  /** What stands behind its Content-Encoding, as far as it is read. */
  readonly content: Uint8Array | undefined
  /** What is responded instead, where it is not taken. */
  readonly rejected: Reply | undefined
  readonly limits: ReadingLimits
  /** Bytes of it as it is sent; undefined: it is not known. */
  readonly size?: number
}

/** A request to an AI backend, as far as what is supposed tells. */
export interface Called {
  readonly call?: ModelCall
  readonly candidates?: readonly Candidate[]
  readonly late?: Reply
  readonly unknown?: string
}

/** A message of a protocol is read before rules about it are evaluated. */
export function describedAt(
  { describe }: BackendProgram,
  exchange: Exchange,
  sent: HypotheticalBody | undefined,
): Called | undefined {
  const bad = describe?.(exchange)
  if (bad === undefined) return undefined
  // What is in a body that nobody gave is not known.
  if (sent !== undefined || !HAS_BODY.has(exchange.request.method)) return { late: bad }
  return { unknown: 'the message is unknown because no body was given' }
}

const HAS_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])

/** A call to a model names it in its body. */
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
    const isTold = !upstream.choosesByModel && !upstream.providers.some((one) => one.readsModel)
    return isTold ? {} : { unknown: 'the model is unknown because no body was given' }
  }
  const bad = body.rejected ?? call.read(body.content, exchange)
  if (bad !== undefined) return { late: bad }
  const candidates = upstream.candidates(exchange, call)
  if ('status' in candidates) return { late: candidates }
  const targets = candidates.map(({ target }) => target)
  const unpriced = call.unpriced(exchange, targets)
  if (unpriced === undefined) return { call, candidates }
  const isTold = targets.some(({ prices }) => prices !== undefined)
  return isTold ? { late: unpriced } : { unknown: 'the price of the model is unknown' }
}

/** What becomes of a call after rules; nothing: it is sent. */
export interface Prepared {
  readonly late?: Reply | undefined
  readonly unknown?: string | undefined
}

/** What is responded where the rules allow providers none of which can be sent the call. */
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
    // Those that need nobody else come to the same whatever a service says, if they reject.
    const prepared = call.prepare(exchange, target, 'without-services')
    if (!('status' in prepared)) return { unknown: unknownGuard(exchange) }
    late ??= prepared
  }
  return { late }
}

/** Who may still reject what no guard rejected so far; undefined: nobody. */
export function unknownGuard(
  { guardrails }: Exchange,
  asks = ({ webhooks }: AttachedGuardrails) => webhooks.size > 0,
): string | undefined {
  const asking = guardrails.find(asks)
  if (asking !== undefined)
    return `it depends on the service of \`guardrails\` of \`${asking.policy}\``
  const rejecting = guardrails.find(({ value }) =>
    (value as Guardrails).response?.some(({ regex }) => regex?.action !== 'Mask'),
  )
  return (
    rejecting &&
    `it depends on the response, which \`guardrails\` of \`${rejecting.policy}\` can reject`
  )
}
