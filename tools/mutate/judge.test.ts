import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { readSources } from '../../test/architecture/read-sources.ts'
import { importGraph } from '../imports/import-graph.ts'
import { candidatesFor } from './candidates.ts'
import { Closures } from './closures.ts'
import { Judge } from './judge.ts'
import { hasLine } from './line-bits.ts'
import { placesIn } from './places.ts'
import { Reach } from './reach.ts'
import { writeSwitches } from './switches.ts'

const CODE = `
export const LIMIT = 7 + 1
let last = 0
export function sum(a, b) {
  if (a > 1000) throw new Error('too large')
  last = a
  return a + b
}
export const count = (n) => {
  let left = n
  while (left > 0) left -= 1
  return left
}
export const unused = (n) => -n
export const half = (n) => n / 2
`

const TEST = `
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { count, LIMIT, sum } from './a.ts'

let base
before(() => { base = 1 })
describe('sum', () => {
  let hooks = 0
  beforeEach(() => { hooks++ })
  it('adds', async (t) => {
    t.after(() => { base = 1 })
    await t.test('two numbers', () => assert.equal(sum(base, 2), 3))
    assert.equal(hooks, 1)
  })
  it('has hooks before each', () => assert.equal(hooks, 2))
  it('is skipped', { skip: true }, () => assert.fail())
})
it('counts down', () => assert.equal(count(3), 0))
it('has a limit', () => assert.equal(LIMIT, 8))
after(() => assert.equal(base, 1))
`

const CRASHING_TEST = `
import { existsSync, writeFileSync } from 'node:fs'
import { it } from 'node:test'
import { half } from './a.ts'

const crash = () => process.kill(process.pid, 'SIGKILL')
it('ends its process once for 16, and always for any other number', async () => {
  const result = half(8)
  if (result === 4 || (result === 16 && existsSync('crashed'))) return
  writeFileSync('crashed', '')
  crash()
  await new Promise(() => {})
})
`

describe('the judge of mutants', () => {
  let folder = ''
  let judge: Judge
  const mutants = placesIn({ path: 'src/cel/a.ts', text: CODE }).map((place, index) => ({
    ...place,
    id: index + 1,
  }))
  let reach: Reach
  let newReach: () => Reach

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'judge-'))
    const [plainTree, tree] = [join(folder, 'plain'), join(folder, 'tree')] as const
    for (const root of [plainTree, tree]) mkdirSync(join(root, 'src/cel'), { recursive: true })
    const write = (name: string, text: string) => {
      for (const root of [plainTree, tree]) writeFileSync(join(root, 'src/cel', name), text)
    }
    write('a.ts', CODE)
    writeFileSync(join(tree, 'src/cel/a.ts'), writeSwitches(CODE, mutants))
    write('a.test.ts', TEST)
    write(
      'b.test.ts',
      "import './a.ts'\nimport { it } from 'node:test'\nit('is empty', () => {})\n",
    )
    write('crashing.test.ts', CRASHING_TEST)
    write('broken.test.ts', "import './a.ts'\nthrow new Error('broken')\n")
    const sources = readSources(plainTree)
    const graph = importGraph(sources)
    newReach = () =>
      new Reach({ cache: join(folder, 'reach'), out: folder }, new Closures(sources, graph))
    reach = newReach()
    judge = new Judge({
      tree,
      plainTree,
      reach,
      candidates: (file) => candidatesFor(file, graph, () => undefined),
      slackMs: 500,
      deadline: Number.POSITIVE_INFINITY,
    })
  })
  after(() => {
    judge.end()
    rmSync(folder, { recursive: true })
  })

  const verdictOf = async (original: string, replacement: string) => {
    const mutant = mutants.find(
      (place) => place.original === original && place.replacement === replacement,
    )
    assert.ok(mutant, `${original} → ${replacement}`)
    return await judge.judge(mutant, { budgetMs: 10_000, maxFiles: 10, maxMisses: 10 })
  }

  it('finds the test that kills a mutant', async () => {
    const { outcome, killer, ran } = await verdictOf('a + b', 'a - b')
    assert.equal(outcome, 'killed')
    assert.equal(killer?.file, 'src/cel/a.test.ts')
    assert.match(killer?.failure ?? '', /^sum › adds: /)
    assert.deepEqual(ran, ['src/cel/a.test.ts'])
  })

  it('lets a mutant survive that no test notices', async () => {
    const { outcome, nearest } = await verdictOf('last = a', 'undefined')
    assert.equal(outcome, 'survived')
    assert.equal(nearest, 'src/cel/a.test.ts')
  })

  it('counts a mutant that never ends as killed', async () => {
    const { outcome, killer } = await verdictOf('left -= 1', 'undefined')
    assert.equal(outcome, 'killed')
    assert.equal(killer?.failure, 'hung')
  })

  it('repeats a test that ended its process before it counts', async () => {
    assert.equal((await verdictOf('n / 2', 'n * 2')).outcome, 'survived')
    const { outcome, killer } = await verdictOf('2', '3')
    assert.equal(outcome, 'killed')
    assert.equal(killer?.failure, 'crashed')
  })

  it('starts a process with a mutant in code that runs when a module is loaded', async () => {
    const { outcome, killer } = await verdictOf('7 + 1', '7 - 1')
    assert.equal(outcome, 'killed')
    assert.match(killer?.failure ?? '', /^has a limit: /)
  })

  it('reports what no test reaches', async () => {
    const { outcome, ran } = await verdictOf('-n', 'n')
    assert.equal(outcome, 'unreached')
    assert.deepEqual(ran, [])
  })

  it('uses no test file that fails without a mutant, and keeps that for a run that continues', () => {
    const broken = [['src/cel/broken.test.ts', '(loading): broken']]
    assert.deepEqual([...reach.unusable], broken)
    assert.deepEqual([...newReach().unusable], broken)
  })

  it('keeps which lines a test file reaches until one of its files changes', () => {
    const usual = newReach().recorded('src/cel/a.test.ts')
    assert.ok(usual)
    const lines = CODE.split('\n').flatMap((_, index) =>
      hasLine(usual.reached, 'src/cel/a.ts', index + 1) ? [index + 1] : [],
    )
    assert.deepEqual(lines, [4, 5, 6, 7, 8, 9, 10, 11, 12, 13])
    assert.equal(usual.hasChildren, false)
  })
})
