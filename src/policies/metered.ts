import type { Exchange } from '../exchange/exchange.ts'
import type { Step } from '../exchange/step.ts'
import type { UsageLimit } from '../exchange/usage-limit.ts'
import type { Meter, Part } from './define.ts'

/**
 * Attaches limits to each exchange, which the code that makes the call charges; then runs `step`.
 */
export function metered(
  limitsOf: (exchange: Exchange) => readonly UsageLimit[],
  step?: Step,
): Part {
  const meter: Meter = (exchange) => {
    exchange.usageLimits = [...exchange.usageLimits, ...limitsOf(exchange)]
  }
  return {
    meter,
    step: (exchange) => {
      meter(exchange)
      return step?.(exchange)
    },
  }
}
