import { type ParseArgsConfig, parseArgs } from 'node:util'
import { UsageError } from './define.ts'

/** The options of a command; what is not understood is said with its help. */
export function readArgs<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config)
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
