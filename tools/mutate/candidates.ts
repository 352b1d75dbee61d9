import { type ImportGraph, testsOf } from '../imports/import-graph.ts'

/** A test file that may notice a mutant. */
export interface Candidate {
  readonly path: string
  /** The lower, the nearer and the shorter. */
  readonly rank: number
}

/** Folders of tests that need a cluster, a browser, other programs or minutes. */
const SLOW_FOLDERS =
  /^test\/(?:browser|charts|cli|cluster|faults|gateway-conformance|h2spec|oracle|peers|policies-under-load|release|site|soak|storage|ui)\//
/** Tests that read the sources as text. */
const OF_TEXT = /^(?:test\/architecture|test\/(?:glossary|secrets)\.|tools\/)/

/** The test beside a file knows it best. */
const SIBLING_BONUS = 10

/** Tests of the whole take longer. */
const WHOLE = /^test\//
const USUAL_MS = 250

/** The most promising first: the nearest, and of equally near tests the shortest. */
export function candidatesFor(
  file: string,
  graph: ImportGraph,
  msOf: (test: string) => number | undefined,
): readonly Candidate[] {
  return testsOf(graph, file)
    .filter(({ path }) => !SLOW_FOLDERS.test(path) && !OF_TEXT.test(path))
    .map(({ path, distance }) => {
      const ms = msOf(path) ?? (WHOLE.test(path) ? 4 * USUAL_MS : USUAL_MS)
      const rank = distance + Math.log2(1 + ms / USUAL_MS) - commonFolders(path, file)
      return { path, rank: path === siblingOf(file) ? rank - SIBLING_BONUS : rank }
    })
    .toSorted((a, b) => a.rank - b.rank)
}

export function siblingOf(file: string): string {
  return file.replace(/\.ts$/, '.test.ts')
}

function commonFolders(a: string, b: string): number {
  const [first, second] = [a, b].map((path) => path.split('/').slice(0, -1))
  const differs = first?.findIndex((folder, index) => folder !== second?.[index])
  return differs === undefined || differs === -1 ? (first?.length ?? 0) : differs
}
