import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SourceFile } from './rule.ts'
import { ROOTS } from './table.ts'

const ROOT = join(import.meta.dirname, '../..')

export function readSources(): readonly SourceFile[] {
  return ROOTS.filter((folder) => existsSync(join(ROOT, folder)))
    .flatMap((folder) => globSync(`${folder}/**/*.{ts,tsx,mts,js,mjs,go,css}`, { cwd: ROOT }))
    .map((path) => path.replaceAll('\\', '/'))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
}
