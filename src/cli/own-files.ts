import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'

/*
 * Files that ship with the program: in the repository, they are two folders up; in a release, next
 * to the program; in a single-file release, inside it.
 */
const { getAsset, isSea } = process.getBuiltinModule('node:sea')
const FOLDER = join(import.meta.dirname, import.meta.url.endsWith('.ts') ? '../..' : '.')

/** `name`: as in the repository, such as `examples/init/http.yaml`. */
export function readOwnFile(name: string): string {
  return isSea() ? getAsset(name, 'utf8') : readFileSync(join(FOLDER, name), 'utf8')
}

/** Whether a path is that of the file; always false in a single-file release. */
export function isOwnFile(path: string, name: string): boolean {
  return !isSea() && path === join(FOLDER, name)
}

/** Returns its path; a single-file release copies it to a folder where it can be edited. */
export function ownFile(name: string): string {
  if (!isSea()) return join(FOLDER, name)
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
  const path = join(folder, basename(name))
  const text = readOwnFile(name)
  writeFileSync(path, text)
  process.once('exit', () => {
    // An edited file belongs to the user.
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
