import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Places } from '../diagnostics/places.ts'
import { renderCount, renderTerminal } from '../diagnostics/render.ts'
import { hasErrors } from '../diagnostics/result.ts'
import type { Model } from '../model/model.ts'
import type { Settings } from '../model/settings.ts'
import type { Terminal } from './define.ts'
import { isManifests, loadConfiguration } from './load-configuration.ts'

export interface Judged {
  readonly model: Model
  readonly settings: Settings
  readonly places: Places
}

/**
 * Loads the configuration that a command judges. Prints the errors and returns undefined if there
 * are any. A cluster serves the objects that it accepts, and denies what the others guard: what is
 * wrong with them is printed as a warning.
 */
export function loadJudged(file: string, terminal: Terminal): Judged | undefined {
  const { result, settings, places } = loadConfiguration(file, {
    environment: terminal.environment,
  })
  const { value: model, diagnostics } = result
  const isServed = reportJudged(file, diagnostics, terminal)
  if (model === undefined || settings === undefined || !isServed) return undefined
  return { model, settings, places }
}

/** Returns whether the configuration would be served. */
export function reportJudged(
  file: string,
  diagnostics: readonly Diagnostic[],
  terminal: Terminal,
): boolean {
  if (!isManifests(file)) {
    const isServed = !hasErrors(diagnostics)
    if (!isServed) print(file, diagnostics, terminal)
    return isServed
  }
  const seen = diagnostics.map(asServed)
  const isServed = !hasErrors(seen)
  const shown = seen.filter((one, index) => !isServed || one !== diagnostics[index])
  if (shown.length > 0) print(file, shown, terminal)
  return isServed
}

/** An error of an object does not prevent others from being served. */
function asServed(diagnostic: Diagnostic): Diagnostic {
  const isOfObject = diagnostic.severity === 'error' && diagnostic.origin.kind === 'object'
  return isOfObject ? { ...diagnostic, severity: 'warning' } : diagnostic
}

function print(file: string, diagnostics: readonly Diagnostic[], terminal: Terminal): void {
  const { err, colour, width = 100 } = terminal
  err(`${renderTerminal(diagnostics, { colour, width })}\n\n${file}: ${renderCount(diagnostics)}\n`)
}
