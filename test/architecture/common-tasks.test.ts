import assert from 'node:assert/strict'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { TASKS } from './tasks/index.ts'
import { plantTree, ROOT } from './tasks/planted-tree.ts'
import type { Task } from './tasks/task.ts'

/*
 * Checks the numbers of files in ARCHITECTURE.md for each common task. All tasks are done in one
 * copy of the tree, since generators cost the same for one as for all. A generated file belongs to
 * the task whose unique marker it contains. `tasks/compile.test.ts` compiles the tree.
 */

const MODELS = /^test\/config\/.+\.model\.json$/

/** The numbers of a row: new files, files edited by hand, files that golden writes. */
async function rowOf({ row }: Task): Promise<readonly number[]> {
  const text = await readFile(join(ROOT, 'ARCHITECTURE.md'), 'utf8')
  const line = text.split('\n').find((one) => one.startsWith(`| ${row} | `) && /\| \d/.test(one))
  assert.ok(line, `a row for ${row}`)
  return line
    .split('|')
    .slice(2, 5)
    .map((cell) => Number.parseInt(cell, 10))
}

describe('the common tasks of ARCHITECTURE.md', () => {
  let folder = ''
  /** The files that golden wrote: path → text. */
  const written = new Map<string, string>()
  let results: readonly unknown[] = []

  before(async () => {
    const { run, ...tree } = await plantTree()
    folder = tree.folder
    const golden = await run(process.execPath, 'tools/golden.ts')
    for (const line of golden.split('\n')) {
      const path = /^(?:missing|different): (.+)/.exec(line)?.[1]
      if (path !== undefined) written.set(path, await readFile(join(folder, path), 'utf8'))
    }
    for (const [index, { trial }] of TASKS.entries()) {
      await writeFile(join(folder, `trial-${index}.ts`), trial)
    }
    const trials = TASKS.map((_, index) => `(await import('./trial-${index}.ts')).result`)
    await writeFile(join(folder, 'trials.ts'), `console.log(JSON.stringify([${trials}]))\n`)
    results = JSON.parse(await run(process.execPath, 'trials.ts'))
  })

  after(() => rm(folder, { recursive: true, force: true }))

  for (const [index, task] of TASKS.entries()) {
    it(`${task.row}: works, and touches the files that the table counts`, async () => {
      assert.deepEqual(results[index], task.expected)
      const marked = [...written].filter(([, text]) => text.includes(task.marker))
      const [models, others] = [marked.filter(isModel), marked.filter((one) => !isModel(one))]
      assert.deepEqual(others.map(([path]) => path).toSorted(), task.generated)
      assert.equal(models.length > 0, task.isInModels === true)
      const counts = [task.newFiles, task.edits, task.generated].map(
        (own) => Object.keys(own).length,
      )
      assert.deepEqual(await rowOf(task), counts)
    })
  }

  it('golden writes nothing else', () => {
    const known = new Set(TASKS.flatMap(({ generated }) => generated))
    const others = [...written].filter((one) => !known.has(one[0]) && !isModel(one))
    assert.deepEqual(
      others.map(([path]) => path),
      [],
    )
  })
})

function isModel([path]: readonly [string, string]): boolean {
  return MODELS.test(path)
}
