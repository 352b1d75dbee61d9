import { execFileSync } from 'node:child_process'
import { constants, copyFileSync, existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Copies the files of a working tree, or of a revision, that belong to the repository. */
export function copyTree(root: string, tree: string, revision: string | undefined): void {
  rmSync(tree, { recursive: true, force: true })
  mkdirSync(tree, { recursive: true })
  if (revision === undefined) copyWorkingTree(root, tree)
  else {
    const archive = git(root, ['archive', '--format=tar', revision])
    execFileSync('tar', ['-x', '-C', tree], { input: archive })
  }
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'), 'junction')
}

function copyWorkingTree(root: string, tree: string): void {
  const listed = git(root, ['ls-files', '-z', '--cached', '--others', '--exclude-standard'])
  const folders = new Set<string>()
  for (const path of listed.toString().split('\0').filter(Boolean)) {
    if (!existsSync(join(root, path))) continue
    const folder = dirname(join(tree, path))
    if (!folders.has(folder)) mkdirSync(folder, { recursive: true })
    folders.add(folder)
    copyFileSync(join(root, path), join(tree, path), constants.COPYFILE_FICLONE)
  }
}

export function git(root: string, args: readonly string[]): Buffer {
  return execFileSync('git', args, { cwd: root, maxBuffer: 2 ** 30, stdio: 'pipe' })
}
