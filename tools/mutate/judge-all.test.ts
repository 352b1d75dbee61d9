import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { readSources } from '../../test/architecture/read-sources.ts'
import { importGraph } from '../imports/import-graph.ts'
import { Closures } from './closures.ts'
import { Equivalents } from './equivalents.ts'
import type { Verdict } from './judge.ts'
import { judgeAll } from './judge-all.ts'
import { placesIn } from './places.ts'
import { Reach } from './reach.ts'
import { writeSwitches } from './switches.ts'

const CODE = 'export const isLess = (a, b) => a < b\n'
const NEAR =
  "import './a.ts'\nimport { it } from 'node:test'\nimport { isLess } from './a.ts'\nit('is called', () => { isLess(1, 1) })\n"
const FAR =
  "import { it } from 'node:test'\nimport { isLess } from './a.ts'\nit('is not less', () => { if (isLess(1, 1)) throw new Error('less') })\n"

describe('the judgment of mutants', () => {
  const folder = mkdtempSync(join(tmpdir(), 'judge-all-'))
  after(() => rmSync(folder, { recursive: true }))
  const places = placesIn({ path: 'src/a.ts', text: CODE })
  const [mutant] = places
    .filter(({ replacement }) => replacement === 'a <= b')
    .map((place) => ({ ...place, id: 1 }))
  assert.ok(mutant)
  const plainTree = join(folder, 'plain')
  const tree = join(folder, 'tree')
  for (const [root, code] of [
    [plainTree, CODE],
    [tree, writeSwitches(CODE, [mutant])],
  ] as const) {
    mkdirSync(join(root, 'src'), { recursive: true })
    writeFileSync(join(root, 'src/a.ts'), code)
    writeFileSync(join(root, 'src/near.test.ts'), NEAR)
    writeFileSync(join(root, 'src/far.test.ts'), FAR)
  }
  const sources = readSources(plainTree)
  const closures = new Closures(sources, importGraph(sources))

  const judge = async (begun: ReadonlyMap<number, Verdict>, deadline: number) => {
    const effort = { budgetMs: 10_000, maxMisses: 10 }
    const [result] = await judgeAll([mutant], {
      jobs: 1,
      efforts: [
        { ...effort, maxFiles: 1 },
        { ...effort, maxFiles: 10 },
      ],
      equivalents: new Equivalents([]),
      begun,
      onResult: () => {},
      judge: {
        tree,
        plainTree,
        reach: new Reach({ cache: join(folder, 'reach'), out: folder }, closures),
        candidates: () => [
          { path: 'src/near.test.ts', rank: 1 },
          { path: 'src/far.test.ts', rank: 2 },
        ],
        slackMs: 1000,
        deadline,
      },
    })
    assert.ok(result)
    return result
  }

  it('tries more for what survives a little', async () => {
    const { outcome, killer, isFinal } = await judge(new Map(), Number.POSITIVE_INFINITY)
    assert.equal(outcome, 'killed')
    assert.equal(killer?.file, 'src/far.test.ts')
    assert.equal(isFinal, true)
  })

  it('that was out of time is not final, and continues with what has not run', async () => {
    const survived = { outcome: 'survived', ran: ['src/near.test.ts'] } as const
    const early = await judge(new Map([[1, survived]]), 0)
    assert.equal(early.outcome, 'survived')
    assert.equal(early.isFinal, false)
    const { outcome, ran, isFinal } = await judge(new Map([[1, early]]), Number.POSITIVE_INFINITY)
    assert.equal(outcome, 'killed')
    assert.deepEqual(ran, ['src/near.test.ts', 'src/far.test.ts'])
    assert.equal(isFinal, true)
  })
})
