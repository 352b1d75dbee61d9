import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Generates files of the repository from other files in it. */
export interface Generator {
  readonly name: string
  /** Folders with only generated files: a file that is no longer generated is removed. */
  readonly folders: readonly string[]
  /** Path from the root → text. The same input produces the same bytes. */
  readonly generate: (root: string) => ReadonlyMap<string, string>
}

export interface Change {
  readonly path: string
  readonly kind: 'missing' | 'different' | 'left over'
  /** The expected content; undefined if the file should not exist. */
  readonly text: string | undefined
}

/** The changes that bring the generated files up to date. */
export function findChanges(root: string, generators: readonly Generator[]): readonly Change[] {
  return generators.flatMap(({ folders, generate }) => {
    const files = generate(root)
    const changes: Change[] = []
    for (const [path, text] of files) {
      const file = join(root, path)
      if (!existsSync(file)) changes.push({ path, kind: 'missing', text })
      else if (readFileSync(file, 'utf8') !== text) changes.push({ path, kind: 'different', text })
    }
    for (const path of folders.flatMap((folder) => listFiles(root, folder))) {
      if (!files.has(path)) changes.push({ path, kind: 'left over', text: undefined })
    }
    return changes
  })
}

export function applyChanges(root: string, changes: readonly Change[]): void {
  for (const { path, text } of changes) {
    const file = join(root, path)
    if (text === undefined) rmSync(file)
    else {
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text)
    }
  }
}

function listFiles(root: string, folder: string): readonly string[] {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .map((path) => path.replaceAll('\\', '/'))
}

/** Replaces the text between `<!-- name: generated … -->` and `<!-- end -->`. */
export function replaceSection(document: string, name: string, body: string): string {
  const pattern = new RegExp(`(<!-- ${name}: generated[^\n]*-->\n)[^]*?(\n<!-- end -->)`)
  if (!pattern.test(document)) throw new Error(`no section "${name}" to replace`)
  return document.replace(pattern, (_all, open, close) => `${open}\n${body}\n${close}`)
}
