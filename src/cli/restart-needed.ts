import { isDeepStrictEqual } from 'node:util'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Settings } from '../model/settings.ts'

/** Settings of `config` that have different names in the file and in the Model. */
const WRITTEN: Partial<Record<keyof Settings, string>> = {
  admin: 'adminAddr',
  stats: 'statsAddr',
  readiness: 'readinessAddr',
  drain: 'connectionTerminationDeadline',
  upstream: 'backend',
}

/** Diagnostics for changed process settings that require a restart. */
export function restartNeeded(
  file: string,
  running: Settings,
  written: Settings,
): readonly Diagnostic[] {
  const keys = Object.keys({ ...running, ...written }) as (keyof Settings)[]
  return keys
    .filter((key) => key !== 'modelCatalog' && !isDeepStrictEqual(running[key], written[key]))
    .map((key) => {
      const name = `config.${WRITTEN[key] ?? key}`
      return {
        code: 'PC0405',
        severity: 'warning',
        message: `the change to \`${name}\` takes effect after a restart`,
        origin: { kind: 'object', object: file, field: name },
        hint: 'the rest of the file has been applied',
      } as const
    })
}
