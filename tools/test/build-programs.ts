// Builds the programs as a release has them, for tests that start them (test/programs.ts):
//
//   node tools/test/build-programs.ts FOLDER

import { copyFileSync, mkdirSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { programFiles, writePrograms } from '../release/programs.ts'
import { buildUi } from '../ui/build-ui.ts'

const ROOT = join(import.meta.dirname, '../..')
const [, , name] = process.argv
if (name === undefined) throw new Error('usage: node tools/test/build-programs.ts FOLDER')
const folder = resolve(name)

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
await writePrograms(ROOT, folder)
await buildUi(join(folder, 'ui'))
for (const file of ['package.json', ...programFiles(ROOT)]) {
  mkdirSync(dirname(join(folder, file)), { recursive: true })
  copyFileSync(join(ROOT, file), join(folder, file))
}
