import { errorReporter } from '../proxy/internal-errors.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'

/**
 * What throws where nothing on the request path catches it (a timer, a health check, a name that is
 * looked up) is abandoned and told, and does not end a process that serves others.
 */
export function outliveErrors(log: Logger, metrics: Metrics): void {
  const report = errorReporter(log, metrics)
  process.on('uncaughtException', (error) => report('process', error))
  process.on('unhandledRejection', (reason) => report('process', reason))
}
