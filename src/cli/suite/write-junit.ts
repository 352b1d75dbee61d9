import { writeFileSync } from 'node:fs'
import { whyUnwritable } from '../../diagnostics/system-error.ts'
import type { Terminal } from '../define.ts'
import { renderJunit } from './render.ts'
import type { SuiteResult } from './run-suite.ts'

/** Returns false if it cannot be written: a missing report must not count as success. */
export function writeJunit(
  file: string,
  results: readonly SuiteResult[],
  { err }: Pick<Terminal, 'err'>,
): boolean {
  try {
    writeFileSync(file, renderJunit(results))
    return true
  } catch (error) {
    err(`portcullis: cannot write the results: ${whyUnwritable(error)}\n`)
    return false
  }
}
