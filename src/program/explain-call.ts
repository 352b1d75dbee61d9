import type { ReadingLimits } from '../cel/values/ledger.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { Reply } from '../exchange/reply.ts'
import { ModelCall } from './model-call.ts'
import type { BackendProgram, Candidate } from './program.ts'

/** A body, as whoever reads it for the rules left it. */
export interface SupposedBody {
  /** What stands behind its Content-Encoding, as far as it is read. */
  readonly content: Uint8Array | undefined
  /** What is responded instead, where it is not taken. */
  readonly rejected: Reply | undefined
  readonly limits: ReadingLimits
}

/** A request to an AI backend, as far as what is supposed tells. */
export interface Called {
  readonly call?: ModelCall
  readonly candidates?: readonly Candidate[]
  readonly late?: Reply
  readonly unknown?: string
}

/** A call to a model names it in its body. */
export function calledAt(
  { upstream }: BackendProgram,
  exchange: Exchange,
  body: SupposedBody | undefined,
): Called {
  if (upstream.kind !== 'ai') return {}
  const call = upstream.open(exchange)
  if (call === undefined) return {}
  if (!(call instanceof ModelCall)) return { late: call }
  if (body === undefined) {
    const isTold = !upstream.choosesByModel && !upstream.providers.some((one) => one.readsModel)
    return isTold ? {} : { unknown: 'the body is not given, and it names the model' }
  }
  const bad = body.rejected ?? call.read(body.content, exchange)
  if (bad !== undefined) return { late: bad }
  const candidates = upstream.candidates(exchange, call)
  return 'status' in candidates ? { late: candidates } : { call, candidates }
}

/** What is responded where the rules allow providers none of which can be sent the call. */
export function unprepared(
  { call, candidates = [] }: Called,
  allowed: ReadonlySet<string>,
  exchange: Exchange,
): Reply | undefined {
  if (call === undefined) return undefined
  const prepared = candidates
    .filter(({ program }) => allowed.has(program.provider))
    .map(({ target }) => call.prepare(exchange, target))
  const isSent = prepared.some((one) => !('status' in one))
  return isSent ? undefined : prepared.find((one) => 'status' in one)
}
