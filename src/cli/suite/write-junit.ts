import { writeFileSync } from 'node:fs'
import type { Terminal } from '../define.ts'
import { renderJunit } from './render.ts'
import type { SuiteResult } from './run-suite.ts'

/** False if it cannot be written: its absence must not be taken for success. */
export function writeJunit(
  file: string,
  results: readonly SuiteResult[],
  { err }: Pick<Terminal, 'err'>,
): boolean {
  try {
    writeFileSync(file, renderJunit(results))
    return true
  } catch (error) {
    err(`portcullis: the results cannot be written: ${(error as Error).message}\n`)
    return false
  }
}
