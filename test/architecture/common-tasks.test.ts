import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { TASKS } from './tasks/index.ts'
import type { Edit, Task } from './tasks/task.ts'

/*
 * Checks the numbers of files in ARCHITECTURE.md for each common task. All tasks are done in one
 * copy of the tree, since type checks and generators cost the same for one as for all. A generated
 * file belongs to the task whose unique marker it contains.
 */

const ROOT = join(import.meta.dirname, '../..')
const COPIED = 'src test tools ui site proto docs charts examples bin ARCHITECTURE.md'.split(' ')
const SET_UP = ['package.json', 'tsconfig.json']
const REPORTER = '--test-reporter=./tools/test-reporter.ts'
const MODELS = /^test\/config\/.+\.model\.json$/

async function copyTree(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'common-tasks-'))
  for (const one of [...COPIED, ...SET_UP]) {
    await cp(join(ROOT, one), join(folder, one), { recursive: true })
  }
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

async function plant(folder: string, { newFiles, edits }: Task): Promise<void> {
  for (const [path, text] of Object.entries(newFiles)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text, { flag: 'wx' })
  }
  for (const [path, own] of Object.entries(edits)) {
    const text = await readFile(join(folder, path), 'utf8')
    await writeFile(join(folder, path), own.reduce(edited, text))
  }
}

function edited(text: string, edit: Edit): string {
  const [was, now] =
    'was' in edit ? [edit.was, edit.now] : [edit.before, `${edit.added}\n${edit.before}`]
  assert.equal(text.split(was).length, 2, `exactly one place for: ${was}`)
  return text.replace(was, () => now)
}

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

  const run = async (file: string, ...args: readonly string[]) => {
    const env = { ...process.env, HELM: join(ROOT, '.cache/cluster/bin/helm') }
    const { stdout } = await promisify(execFile)(file, args, { cwd: folder, env })
    return stdout
  }

  before(async () => {
    folder = await copyTree()
    for (const task of TASKS) await plant(folder, task)
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

  it('type checks, and passes the tests that check every item of a kind', async () => {
    const tests = new Set(['test/architecture.test.ts', ...TASKS.flatMap((task) => task.tests)])
    // These fail by their exit code.
    await Promise.all([
      run(join(ROOT, 'node_modules/.bin/tsc'), '-p', folder),
      run(process.execPath, '--test', '--test-isolation=none', REPORTER, ...tests),
    ])
  })
})

function isModel([path]: readonly [string, string]): boolean {
  return MODELS.test(path)
}
