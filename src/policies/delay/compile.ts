import type { Value } from '../../cel/index.ts'
import { Duration } from '../../cel/values/duration.ts'
import { Double, Uint } from '../../cel/values/number.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import { type Attachments, type CompileContext, type Part, variablesOf } from '../define.ts'
import type { Delay } from './schema.ts'

const MAX_DELAY_MS = 3_600_000

export function compileDelay([policy]: Attachments<Delay>, context: CompileContext): Part {
  const { duration } = policy.value
  const millisecondsFor = typeof duration === 'number' ? () => duration : computed(duration)
  return {
    step: (exchange) => {
      const milliseconds = millisecondsFor(exchange)
      return milliseconds > 0 ? pause(Math.min(milliseconds, MAX_DELAY_MS)) : undefined
    },
  }

  function computed(text: string): (exchange: Exchange) => number {
    const place = { policy, field: 'duration', result: 'any' } as const
    const evaluate = context.compile(text, place)?.evaluate()
    return (exchange) => millisecondsOf(evaluate?.(variablesOf(exchange)))
  }
}

/** The value of a duration or a number of milliseconds; any other value is no delay. */
function millisecondsOf(value: Value | undefined): number {
  if (typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  if (value instanceof Double) return value.value
  if (value instanceof Uint) return Number(value.value)
  if (value instanceof Duration) return value.seconds * 1000 + value.nanos / 1_000_000
  return 0
}

function pause(milliseconds: number): Promise<undefined> {
  return new Promise((resolve) => {
    // A delay does not hold up the shutdown of the gateway.
    setTimeout(() => resolve(undefined), milliseconds).unref()
  })
}
