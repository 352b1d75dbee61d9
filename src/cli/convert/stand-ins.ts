import type { Environment } from '../../sources/file/expand.ts'

/**
 * Environments in which every variable is set, each to another kind of value: what a file means
 * can be read without the environment that it is for, by the one that fits best.
 */
export const STAND_INS: readonly Environment[] = ['us-east-1', 'https://stand-in.example', '1'].map(
  (value) => new Proxy<Environment>({}, { get: (_, name) => (name === '' ? undefined : value) }),
)
