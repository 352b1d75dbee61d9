import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { buildUi } from './build-ui.ts'
import { ROOT } from './config.ts'

/**
 * `node tools/ui/build.ts` builds the Admin UI into `.cache/ui`, unless the same sources were
 * built before, and prints the folder.
 */
const SOURCES = ['ui', 'tools/ui', 'src']
const KEPT = 3

const cache = join(ROOT, '.cache/ui')
const folder = join(cache, digestOfSources())
if (!existsSync(join(folder, 'index.html'))) await buildInto(folder)
console.log(folder)

async function buildInto(target: string): Promise<void> {
  mkdirSync(cache, { recursive: true })
  forgetOld()
  // A concurrent process must not serve a partial build.
  const part = `${target}.${process.pid}.part`
  try {
    await buildUi(part)
    if (!existsSync(target)) renameSync(part, target)
  } finally {
    rmSync(part, { recursive: true, force: true })
  }
}

function forgetOld(): void {
  const builds = readdirSync(cache, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && /^[0-9a-f]{32}$/.test(entry.name))
    .map(({ name }) => ({ name, age: statSync(join(cache, name)).mtimeMs }))
    .sort((a, b) => a.age - b.age)
  for (const { name } of builds.slice(0, Math.max(0, builds.length - KEPT))) {
    rmSync(join(cache, name), { recursive: true, force: true })
  }
}

function digestOfSources(): string {
  const hash = createHash('sha256')
  const files = SOURCES.flatMap((name) =>
    readdirSync(join(ROOT, name), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
      .map((entry) => join(entry.parentPath, entry.name)),
  )
  for (const file of [...files.sort(), join(ROOT, 'package-lock.json')]) {
    hash
      .update(`${file.slice(ROOT.length)}\0`)
      .update(readFileSync(file))
      .update('\0')
  }
  return hash.digest('hex').slice(0, 32)
}
