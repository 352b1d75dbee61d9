import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Library } from './libraries.ts'
import type { TarEntry } from './tar.ts'

/** The user of programs in an image; numeric, so that Kubernetes can verify it is not root. */
export const IMAGE_USER = '65532:65532'

const PASSWD = `root:x:0:0:root:/:/sbin/nologin
portcullis:x:65532:65532:portcullis:/tmp:/sbin/nologin
`

/** Only Node and the libraries that it loads: no shell and no package manager. */
export function nodeFiles(node: string, libraries: readonly Library[]): readonly TarEntry[] {
  return withFolders([
    { kind: 'file', path: 'etc/passwd', bytes: Buffer.from(PASSWD) },
    { kind: 'file', path: 'etc/nsswitch.conf', bytes: Buffer.from('hosts: files dns\n') },
    { kind: 'file', path: 'usr/bin/node', bytes: stripped(node), mode: 0o755 },
    { kind: 'folder', path: 'tmp', mode: 0o1777 },
    ...libraries.map(({ path, bytes }): TarEntry => ({ kind: 'file', path, bytes, mode: 0o755 })),
  ])
}

/** Removes the symbol table, a fifth of the file, if `strip` is installed. */
function stripped(file: string): Uint8Array {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-strip-'))
  const result = join(folder, 'node')
  try {
    const { status } = spawnSync('strip', ['--strip-all', '-o', result, file])
    return readFileSync(status === 0 ? result : file)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Adds the parent folders of each entry before it. */
export function withFolders(entries: readonly TarEntry[]): readonly TarEntry[] {
  const known = new Set(entries.flatMap(({ kind, path }) => (kind === 'folder' ? [path] : [])))
  const folders: TarEntry[] = []
  for (const { path } of entries) {
    for (const folder of foldersOf(path)) {
      if (known.has(folder)) continue
      known.add(folder)
      folders.push({ kind: 'folder', path: folder })
    }
  }
  return [...folders, ...entries]
}

function foldersOf(path: string): readonly string[] {
  const folder = dirname(path)
  return folder === '.' ? [] : [...foldersOf(folder), folder]
}
