import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Library } from './libraries.ts'
import type { TarEntry } from './tar.ts'

/** The user that programs run as in an image; a number, so that Kubernetes can see it is not root. */
export const IMAGE_USER = '65532:65532'

const PASSWD = `root:x:0:0:root:/:/sbin/nologin
portcullis:x:65532:65532:portcullis:/tmp:/sbin/nologin
`

/** Node and the libraries that it loads, and nothing else: no shell and no package manager. */
export function nodeFiles(node: string, libraries: readonly Library[]): readonly TarEntry[] {
  return withFolders([
    { kind: 'file', path: 'etc/passwd', bytes: Buffer.from(PASSWD) },
    { kind: 'file', path: 'etc/nsswitch.conf', bytes: Buffer.from('hosts: files dns\n') },
    { kind: 'file', path: 'usr/bin/node', bytes: stripped(node), mode: 0o755 },
    { kind: 'folder', path: 'tmp', mode: 0o1777 },
    ...libraries.map(({ path, bytes }): TarEntry => ({ kind: 'file', path, bytes, mode: 0o755 })),
  ])
}

/** Without its table of symbols, which is a fifth of it, where there is a program for that. */
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

/** The folders above each entry, before it. */
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
