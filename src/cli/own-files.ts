import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
  const path = join(folder, basename(name))
  const text = readOwnFile(name)
  writeFileSync(path, text)
  process.once('exit', () => {
    // What was edited belongs to the user.
    if (isUnchanged(path, text)) rmSync(folder, { recursive: true, force: true })
  })
  return path
}

function isUnchanged(path: string, text: string): boolean {
  try {
    return readFileSync(path, 'utf8') === text
  } catch {
    return true
  }
}
