import type { Exchange } from '../../exchange/exchange.ts'
import { type Attachments, type CompileContext, type Part, variablesOf } from '../define.ts'
import type { Retry as RetrySettings } from './schema.ts'

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
