import { execFileSync } from 'node:child_process'
import { readSources } from '../../test/architecture/read-sources.ts'
import { importGraph, testsOf } from '../imports/import-graph.ts'
import { expectedTime, type Times } from './times.ts'

export interface Selection {
  readonly files: readonly string[]
  /** Tests that depend on a change, too, but are left out: the time is used up. */
  readonly leftOut: readonly string[]
}

/**
 * The tests of `tier` that depend on one of the changed files, the nearest first, as long as the
 * expected time is not used up. A test that changed itself always runs.
 */
export function testsOfChanges(
  changed: readonly string[],
  tier: readonly string[],
  times: Times,
  milliseconds: number,
): Selection {
  const graph = importGraph(readSources())
  const distances = new Map<string, number>()
  for (const { path, distance } of changed.flatMap((file) => testsOf(graph, file))) {
    distances.set(path, Math.min(distance, distances.get(path) ?? distance))
  }
  const tests = tier
    .filter((file) => distances.has(file))
    .map((file) => ({ file, distance: distances.get(file) ?? 0 }))
    .sort((a, b) => a.distance - b.distance)
  const files: string[] = []
  const leftOut: string[] = []
  let left = milliseconds
  for (const { file, distance } of tests) {
    const time = expectedTime(file, times)
    if (distance > 0 && time > left) {
      leftOut.push(file)
      continue
    }
    files.push(file)
    left -= time
  }
  return { files, leftOut }
}

/** The files that differ from a commit, those that git does not know yet included. */
export function changedFiles(commit: string): readonly string[] {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).split('\n')
  const since = git('diff', '--name-only', '--diff-filter=d', commit)
  const untracked = git('ls-files', '--others', '--exclude-standard')
  return [...since, ...untracked].filter(Boolean)
}
