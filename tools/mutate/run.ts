import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readSources } from '../../test/architecture/read-sources.ts'
import { importGraph } from '../imports/import-graph.ts'
import { type Candidate, candidatesFor } from './candidates.ts'
import { Closures } from './closures.ts'
import { Equivalents, equivalentOf, readEquivalents, renderEquivalent } from './equivalents.ts'
import { renderIdleTests } from './idle-tests.ts'
import type { Effort } from './judge.ts'
import { judgeAll } from './judge-all.ts'
import { FOLDER, type Options, readOptions } from './options.ts'
import { preparePlan } from './plan.ts'
import { Reach } from './reach.ts'
import { countByRoom, renderSurvivors, renderTable } from './report.ts'
import { appendResult, type Result, readAllResults, readResults } from './results.ts'

/**
 * `npm run mutate` measures what the tests catch: it changes the source in many places, one after
 * the other, and runs the nearest tests that reach the changed code. Results go to `--out`.
 */
const ROOT = join(import.meta.dirname, '../..')
const EQUIVALENTS = join(import.meta.dirname, 'equivalent.txt')
/** First the nearest tests of all mutants, then more for those that survive. */
const EFFORTS: readonly Effort[] = [
  { budgetMs: 1000, maxFiles: 4, maxMisses: 10 },
  { budgetMs: 10_000, maxFiles: 40, maxMisses: 150 },
]

async function mutate(options: Options): Promise<readonly Result[]> {
  const deadline = performance.now() + options.minutes * 60_000
  const out = resolve(ROOT, options.out)
  const { mutants, tree, plainTree } = preparePlan(ROOT, out, options)
  const earlier = readResults(out)
  const done = earlier.filter(({ isFinal }) => isFinal)
  const sources = readSources(plainTree)
  const graph = importGraph(sources)
  const cache = join(ROOT, FOLDER, 'reach')
  const reach = new Reach({ cache, out }, new Closures(sources, graph))
  const candidatesByFile = new Map<string, readonly Candidate[]>()
  const candidates = (file: string) => {
    const known = candidatesByFile.get(file)
    const list = known ?? candidatesFor(file, graph, (path) => reach.recorded(path)?.ms)
    candidatesByFile.set(file, list)
    return list
  }
  const doneIds = new Set(done.map(({ id }) => id))
  const isChanged = options.changed !== undefined
  const judged = await judgeAll(
    mutants.filter(({ id }) => !doneIds.has(id)),
    {
      jobs: options.jobs,
      efforts: isChanged ? EFFORTS.slice(0, 1) : EFFORTS,
      equivalents: new Equivalents(readEquivalents(readFileSync(EQUIVALENTS, 'utf8'))),
      begun: new Map(earlier.map((result) => [result.id, result])),
      onResult: (result) => appendResult(out, result),
      judge: { tree, plainTree, reach, candidates, slackMs: isChanged ? 2000 : 5000, deadline },
    },
  )
  for (const [file, reason] of reach.unusable) console.log(`not used: ${file} (${reason})`)
  return [...done, ...judged]
}

function report(results: readonly Result[], options: Options): void {
  const out = resolve(ROOT, options.out)
  const rooms = countByRoom(results)
  const survivors = results.filter(({ outcome }) => outcome === 'survived')
  const blocks = survivors.map((survivor) => renderEquivalent(equivalentOf(survivor)))
  writeFileSync(join(out, 'survivors.txt'), blocks.join('\n'))
  writeFileSync(join(out, 'report.json'), `${JSON.stringify({ rooms, results }, null, 1)}\n`)
  console.log(renderSurvivors(results))
  console.log(`\n${renderTable(rooms)}\n\nseed ${options.seed}; details: ${options.out}`)
}

// Ends the processes of the tests as well; `--resume` continues.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

const options = readOptions(process.argv.slice(2))
if (options.listsIdleTests) console.log(renderIdleTests(readAllResults(join(ROOT, FOLDER))))
else {
  const results = await mutate(options)
  report(results, options)
  const hasSurvivors = results.some(({ outcome }) => outcome === 'survived')
  if (options.failsOnSurvivors && hasSurvivors) process.exitCode = 1
}
