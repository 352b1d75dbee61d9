import type { Exchange } from '../../exchange/exchange.ts'
import { type Attachments, type CompileContext, type Part, variablesOf } from '../define.ts'
import type { Retry as RetrySettings } from './schema.ts'

export interface Retry {
  /** How often to try again at most. */
  readonly attempts: number
  readonly statuses: ReadonlySet<number>
  /** Also where the connection broke before anything was answered. */
  readonly onConnectionError: boolean
  /** Milliseconds before the second attempt; doubled each time. */
  readonly backoff: number
  /** Bytes of a body that are kept so that it can be sent again. */
  readonly maxBody: number
  /** Asked once of the request; undefined: every request may be tried again. */
  readonly precondition: ((exchange: Exchange) => boolean) | undefined
  /** Asked of a response, with `response` set; true: try again, whatever the status. */
  readonly condition: ((exchange: Exchange) => boolean) | undefined
}

export function compileRetry([policy]: Attachments<RetrySettings>, context: CompileContext): Part {
  const { attempts, backoff = 0, codes, connectionErrors, maxBodyBytes } = policy.value
  const test = (field: 'precondition' | 'condition', stage: 'traffic' | 'log') => {
    const text = policy.value[field]
    if (text === undefined) return undefined
    const predicate = context.compile(text, { policy, field, stage, result: 'bool' })?.predicate()
    return (exchange: Exchange) => predicate?.(variablesOf(exchange)) === true
  }
  return {
    retry: {
      attempts,
      statuses: new Set(codes),
      onConnectionError: connectionErrors,
      backoff,
      maxBody: maxBodyBytes,
      precondition: test('precondition', 'traffic'),
      condition: test('condition', 'log'),
    },
  }
}
