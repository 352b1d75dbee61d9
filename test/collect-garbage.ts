import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

/** One full collection; `v8.queryObjects` and the inspector make up to seven. */
export const collectGarbage = runInNewContext('gc') as () => void
