import { appendFileSync, existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Verdict } from './judge.ts'
import type { Mutant } from './mutant.ts'

/** One line of `results.jsonl`. */
export interface Result extends Mutant, Verdict {
  /** There was time for everything that is tried. */
  readonly isFinal: boolean
}

const FILE = 'results.jsonl'

export function appendResult(folder: string, result: Result): void {
  appendFileSync(join(folder, FILE), `${JSON.stringify(result)}\n`)
}

/** The last of each mutant. */
export function readResults(folder: string): readonly Result[] {
  const results = readJsonLines<Result>(join(folder, FILE))
  return [...new Map(results.map((result) => [result.id, result])).values()]
}

/** The last line is incomplete if the run was interrupted. */
export function readJsonLines<T>(path: string): readonly T[] {
  if (!existsSync(path)) return []
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as T)
}

/** The results of all runs below a folder. */
export function readAllResults(folder: string): readonly Result[] {
  return globSync(`*/${FILE}`, { cwd: folder }).flatMap((path) =>
    readResults(join(folder, path, '..')),
  )
}
