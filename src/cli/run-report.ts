import type { Status } from '../admin/responses.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { renderCount, renderOrigin, renderTerminal } from '../diagnostics/render.ts'
import { hasErrors } from '../diagnostics/result.ts'
import type { Model } from '../model/model.ts'
import { rejectedParts } from '../model/rejected-parts.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Terminal } from './define.ts'
import type { Fleet } from './fleet.ts'

/** The gateway is ready if at least one worker serves; the detail reports if fewer than all do. */
export function withWorkers(status: Status, { size, serving }: Fleet): Status {
  const count = serving()
  if (!status.isReady || count === size) return status
  if (count === 0) return { ...status, isReady: false, detail: 'no worker is serving' }
  return { ...status, detail: `${status.detail}, ${count} of ${size} workers are serving` }
}

/** Logs errors of parts that fail closed while the rest is served. */
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

/** Logs why a change is rejected as a whole: the first error; all errors are printed. */
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

/** Logs policy findings; the diagnostics of the reader are already printed. */
export function logFindings(findings: readonly Diagnostic[], log: Logger): void {
  for (const { code, severity, message, origin } of findings) {
    if (!code.startsWith('AZ')) continue
    const level = severity === 'info' ? 'info' : 'warn'
    log[level]('lint', { code, severity, at: renderOrigin(origin), message })
  }
}

/**
 * Counts the rejected parts of a Model. Invalid parts of a file or a row have been reported, so
 * without errors, thousands of parts need not be scanned.
 */
export function countRejected(model: Model, diagnostics: readonly Diagnostic[]): number {
  return hasErrors(diagnostics) ? rejectedParts(model, diagnostics).length : 0
}

/** Prints why nothing is served; returns the exit code. */
export function reject(diagnostics: readonly Diagnostic[], terminal: Terminal): number {
  print(diagnostics, terminal)
  return 1
}

export function print(
  diagnostics: readonly Diagnostic[],
  { err, colour, width = 100 }: Terminal,
): void {
  if (diagnostics.length === 0) return
  err(`${renderTerminal(diagnostics, { colour, width })}\n\n${renderCount(diagnostics)}\n`)
}
