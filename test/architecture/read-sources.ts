import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SourceFile } from './rule.ts'
import { ROOTS } from './table.ts'

const ROOT = join(import.meta.dirname, '../..')

export function readSources(root = ROOT): readonly SourceFile[] {
  return ROOTS.filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => globSync(`${folder}/**/*.{ts,tsx,mts,js,mjs,go,css}`, { cwd: root }))
    .map((path) => path.replaceAll('\\', '/'))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}
