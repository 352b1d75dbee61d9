import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { TASKS } from './index.ts'
import { type PlantedTree, plantTree, ROOT } from './planted-tree.ts'

/*
 * What the common tasks of ARCHITECTURE.md need is all that they need: nothing else has to be
 * edited for the compiler, or for the tests that check every item of a kind.
 */

const REPORTER = '--test-reporter=./tools/test-reporter.ts'

describe('the common tasks of ARCHITECTURE.md, all done in one tree', () => {
  let tree: PlantedTree

  before(async () => {
    tree = await plantTree()
    await tree.run(process.execPath, 'tools/golden.ts')
  })

  after(() => rm(tree.folder, { recursive: true, force: true }))

  it('type check', async () => {
    await tree.run(join(ROOT, 'node_modules/.bin/tsc'), '-p', tree.folder)
  })

  it('pass the tests that check every item of a kind', async () => {
    const tests = new Set(['test/architecture.test.ts', ...TASKS.flatMap((task) => task.tests)])
    await tree.run(process.execPath, '--test', '--test-isolation=none', REPORTER, ...tests)
  })
})
