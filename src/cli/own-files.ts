import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

/*
 * Files that come with the program: in the repository they are two folders up, in a release beside
 * the program, and in a release of one file inside it.
 */
const { getAsset, isSea } = process.getBuiltinModule('node:sea')
const FOLDER = join(import.meta.dirname, import.meta.url.endsWith('.ts') ? '../..' : '.')

/** `name` as in the repository: `examples/init/http.yaml`. */
export function readOwnFile(name: string): string {
  return isSea() ? getAsset(name, 'utf8') : readFileSync(join(FOLDER, name), 'utf8')
}

/** Whether a path is that of the file; never in a release of one file. */
export function isOwnFile(path: string, name: string): boolean {
  return !isSea() && path === join(FOLDER, name)
}

/** Its path; from a release of one file it is copied to a folder where it can be edited. */
export function ownFile(name: string): string {
  if (!isSea()) return join(FOLDER, name)
  const path = join(mkdtempSync(join(tmpdir(), 'portcullis-')), basename(name))
  writeFileSync(path, readOwnFile(name))
  return path
}
