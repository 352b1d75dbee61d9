import {
  defineEnvironment,
  type Environment,
  type EnvironmentOptions,
} from './check/environment.ts'
import type { Library } from './library/define.ts'
import { LIBRARIES } from './library/index.ts'

/** An environment with all libraries, or only the given ones. */
export function environment(
  options: Omit<EnvironmentOptions, 'libraries' | 'variables'> & {
    readonly variables?: EnvironmentOptions['variables']
    readonly libraries?: readonly Library[]
  },
): Environment {
  return defineEnvironment({ variables: [], libraries: LIBRARIES, ...options })
}
