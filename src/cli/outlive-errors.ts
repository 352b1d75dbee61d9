import { errorReporter } from '../proxy/internal-errors.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'

/**
 * Errors that no code on the request path catches (from a timer, a health check, a name lookup) are
 * logged, and do not end a process that serves other requests.
 */
export function outliveErrors(log: Logger, metrics: Metrics): void {
  const report = errorReporter(log, metrics)
  process.on('uncaughtException', (error) => report('process', error))
  process.on('unhandledRejection', (reason) => report('process', reason))
}
