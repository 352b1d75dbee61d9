import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Environment } from '../sources/file/expand.ts'

/**
 * Variables that ask for a part that this version does not have. Whoever sets one relies on it, as
 * with the settings of a file that the reader refuses.
 */
export function notImplemented(environment: Environment): readonly Diagnostic[] {
  const field = 'OIDC_COOKIE_SECRET'
  if ((environment[field] ?? '') === '') return []
  return [
    {
      code: 'PC0224',
      severity: 'error',
      message: `\`${field}\` is set, but OIDC authentication is not implemented in this version`,
      origin: { kind: 'object', object: 'environment', field },
      hint: 'remove the variable; with the Helm chart, set `oidc.enabled: false`',
    },
  ]
}
