import type { Result } from './results.ts'

export interface IdleTest {
  readonly file: string
  /** Mutants with which it ran. */
  readonly runs: number
}

/** Test files that ran with mutants and killed none of them, those that ran most often first. */
export function idleTests(results: readonly Result[]): readonly IdleTest[] {
  const runs = new Map<string, number>()
  for (const file of results.flatMap(({ ran }) => ran)) runs.set(file, (runs.get(file) ?? 0) + 1)
  const killers = new Set(results.map(({ killer }) => killer?.file))
  return [...runs]
    .filter(([file]) => !killers.has(file))
    .map(([file, count]) => ({ file, runs: count }))
    .toSorted((a, b) => b.runs - a.runs || (a.file < b.file ? -1 : 1))
}

export function renderIdleTests(results: readonly Result[]): string {
  const idle = idleTests(results)
  const rows = idle.map(({ file, runs }) => `${String(runs).padStart(7)}  ${file}`)
  return [`${results.length} mutants; test files that killed none:`, '   runs  file', ...rows].join(
    '\n',
  )
}
