import { isDeepStrictEqual } from 'node:util'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Settings } from '../model/settings.ts'

/** What parts of `config` are called in the file, where the Model calls them otherwise. */
const WRITTEN: Partial<Record<keyof Settings, string>> = {
  admin: 'adminAddr',
  stats: 'statsAddr',
  readiness: 'readinessAddr',
  drain: 'connectionTerminationDeadline',
  upstream: 'backend',
}

/** What a changed file says of the process that only its next start will hear. */
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
