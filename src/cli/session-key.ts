import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Settings } from '../model/settings.ts'
import type { Environment } from '../sources/file/expand.ts'

const VARIABLE = 'SESSION_KEY'

/** Returns the settings with the key from the environment, unless the file sets one. */
export function withSessionKey(
  settings: Settings | undefined,
  environment: Environment,
): Settings | undefined {
  const { [VARIABLE]: key = '' } = environment
  if (settings === undefined || settings.session !== undefined || key === '') return settings
  return { ...settings, session: { key: { secret: key } } }
}

/** With an unusable key, sessions would use a random one, which other replicas lack. */
export function sessionKeyProblems(environment: Environment): readonly Diagnostic[] {
  const { [VARIABLE]: key = '' } = environment
  if (key === '' || /^[0-9a-fA-F]{64}$/.test(key)) return []
  return [
    {
      code: 'PC0215',
      severity: 'error',
      message: `\`${VARIABLE}\` must have exactly 64 hexadecimal digits`,
      origin: { kind: 'object', object: 'environment', field: VARIABLE },
      hint: 'generate one with `openssl rand -hex 32`',
    },
  ]
}
