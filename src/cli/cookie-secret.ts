import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Settings } from '../model/settings.ts'
import { isCookieSecret } from '../oidc/sealed-json.ts'
import type { Environment } from '../sources/file/expand.ts'

export const COOKIE_SECRET = 'OIDC_COOKIE_SECRET'

/** All sign-in sessions depend on it: without a valid cookie secret, the gateway does not start. */
export function cookieSecretProblems(
  settings: Settings | undefined,
  environment: Environment,
): readonly Diagnostic[] {
  const { [COOKIE_SECRET]: secret = '' } = environment
  if (isCookieSecret(secret)) return []
  if (secret === '' && settings?.adminAuth === undefined) return []
  const needs = '`config.adminAuth.oidc` requires the environment variable'
  return [
    {
      code: 'PC0407',
      severity: 'error',
      message:
        secret === ''
          ? `${needs} \`${COOKIE_SECRET}\`, which is not set`
          : `\`${COOKIE_SECRET}\` must be a random key of 64 hexadecimal digits`,
      origin: { kind: 'object', object: 'environment', field: COOKIE_SECRET },
      hint: 'generate one with `openssl rand -hex 32` and use the same key for all replicas',
    },
  ]
}
