import { renderJson } from '../diagnostics/render.ts'
import { hasErrors } from '../diagnostics/result.ts'
import { runToCompletion } from '../model/steps.ts'
import { loadMerged } from '../sources/database/load.ts'
import { readStoredText } from '../sources/database/stored-text.ts'
import type { Terminal } from './define.ts'
import { lintLoaded } from './lint.ts'
import { readText } from './read-text.ts'

/**
 * Internal: `portcullis lint --format json` for a file together with stored resources, which are
 * read from standard input. Findings refer to lines of the file and fields of stored resources,
 * where users can fix them; comments in the file apply.
 */
export function lintStored([file = '']: readonly string[], terminal: Terminal): number {
  const { environment, readInput, out } = terminal
  const stored = readStoredText(readInput())
  const text = readText(file)
  const loaded = runToCompletion(loadMerged(file, environment, stored))
  const found = lintLoaded(loaded, text, file, {}).map(({ diagnostic }) => diagnostic)
  out(`${renderJson(found)}\n`)
  return hasErrors(found) ? 1 : 0
}
