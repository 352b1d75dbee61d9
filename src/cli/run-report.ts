import type { Status } from '../admin/responses.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { renderOrigin } from '../diagnostics/render.ts'
import { hasErrors } from '../diagnostics/result.ts'
import type { Model } from '../model/model.ts'
import { rejectedParts } from '../model/rejected-parts.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Fleet } from './fleet.ts'

/** Ready is who serves: without a worker nobody does, and with fewer than all it is said. */
export function withWorkers(status: Status, { size, serving }: Fleet): Status {
  const count = serving()
  if (!status.isReady || count === size) return status
  if (count === 0) return { ...status, isReady: false, detail: 'no worker is serving' }
  return { ...status, detail: `${status.detail}, ${count} of ${size} workers are serving` }
}

/** What fails closed while the rest is served. */
export function logErrors(diagnostics: readonly Diagnostic[], log: Logger): void {
  for (const { code, severity, message, origin } of diagnostics) {
    if (severity !== 'error') continue
    log.error('config', {
      code,
      at: renderOrigin(origin),
      outcome: 'part-rejected',
      error: message,
    })
  }
}

/** Why a change is rejected as a whole: the first error; all of them are printed. */
export function logRejection(file: string, diagnostics: readonly Diagnostic[], log: Logger): void {
  const cause = diagnostics.find(({ severity }) => severity === 'error') ?? diagnostics[0]
  log.error('config', {
    file,
    code: cause?.code,
    at: cause && renderOrigin(cause.origin),
    outcome: 'rejected',
    error: cause?.message,
  })
}

/** What is wrong with the policies, in the log too; what the reader said was printed already. */
export function logFindings(findings: readonly Diagnostic[], log: Logger): void {
  for (const { code, severity, message, origin } of findings) {
    if (!code.startsWith('AZ')) continue
    const level = severity === 'info' ? 'info' : 'warn'
    log[level]('lint', { code, severity, at: renderOrigin(origin), message })
  }
}

/** How many parts of a Model are rejected. What is invalid in a file or a row was reported, so that
 * thousands of parts need not be looked at; a controller knows of it by itself (`isDelivered`). */
export function countRejected(
  model: Model,
  diagnostics: readonly Diagnostic[],
  isDelivered: boolean,
): number {
  if (!isDelivered && !hasErrors(diagnostics)) return 0
  return rejectedParts(model, diagnostics).length
}
