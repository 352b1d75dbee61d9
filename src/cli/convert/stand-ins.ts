import type { Environment } from '../../sources/file/expand.ts'

/**
 * Environments that set every variable, each to a different kind of value: a file can be read
 * without its own environment, with the one that fits best.
 */
export const STAND_INS: readonly Environment[] = ['us-east-1', 'https://stand-in.example', '1'].map(
  (value) => new Proxy<Environment>({}, { get: (_, name) => (name === '' ? undefined : value) }),
)
