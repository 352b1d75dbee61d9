import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { TASKS } from './index.ts'
import type { Edit, Task } from './task.ts'

export const ROOT = join(import.meta.dirname, '../../..')
const COPIED = 'src test tools ui site proto docs charts examples bin ARCHITECTURE.md'.split(' ')
const SET_UP = ['package.json', 'tsconfig.json']

export interface PlantedTree {
  readonly folder: string
  /** Runs a program in the copy and returns its output. */
  run(file: string, ...args: readonly string[]): Promise<string>
}

/** Does all common tasks in one copy of the tree, except what `npm run golden` does. */
export async function plantTree(): Promise<PlantedTree> {
  const folder = await mkdtemp(join(tmpdir(), 'common-tasks-'))
  for (const path of [...COPIED, ...SET_UP])
    cpSync(join(ROOT, path), join(folder, path), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  for (const task of TASKS) await plant(folder, task)
  const run = async (file: string, ...args: readonly string[]) => {
    const HELM = join(ROOT, '.cache/cluster/bin/helm')
    const env = { ...process.env, HELM, NODE_COMPILE_CACHE: join(folder, '.cache') }
    const { stdout } = await promisify(execFile)(file, args, { cwd: folder, env })
    return stdout
  }
  return { folder, run }
}

async function plant(folder: string, { newFiles, edits }: Task): Promise<void> {
  for (const [path, text] of Object.entries(newFiles)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text, { flag: 'wx' })
  }
  for (const [path, changes] of Object.entries(edits)) {
    const text = await readFile(join(folder, path), 'utf8')
    await writeFile(join(folder, path), changes.reduce(edited, text))
  }
}

function edited(text: string, edit: Edit): string {
  const [was, now] =
    'was' in edit ? [edit.was, edit.now] : [edit.before, `${edit.added}\n${edit.before}`]
  assert.equal(text.split(was).length, 2, `exactly one place for: ${was}`)
  return text.replace(was, () => now)
}
