import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { git } from './tree.ts'

/** Lines by file. */
export type Lines = ReadonlyMap<string, ReadonlySet<number>>

/** What is compared: a base with the working tree, or with another revision. */
export interface Comparison {
  readonly base: string
  readonly revision: string | undefined
}

/** `BASE` or `BASE..REVISION`; without one, what is not in origin/main, or else the last commit. */
export function comparisonOf(root: string, text: string): Comparison {
  const [base = '', revision] = text.split(/\.{2,3}/)
  if (base !== '') return { base, revision: revision === '' ? undefined : revision }
  return { base: forkPoint(root) ?? 'HEAD~1', revision: undefined }
}

/** Undefined if there is no origin/main, or nothing after it. */
function forkPoint(root: string): string | undefined {
  try {
    const base = git(root, ['merge-base', 'origin/main', 'HEAD']).toString().trim()
    const isAhead = git(root, ['diff', '--name-only', base]).length > 0
    return isAhead ? base : undefined
  } catch {
    return undefined
  }
}

/** The lines of src that were added or changed, in their current numbering. */
export function changedLines(root: string, { base, revision }: Comparison): Lines {
  const revisions = revision === undefined ? [base] : [base, revision]
  const args = ['diff', '--unified=0', '--no-color', '--no-ext-diff', '--no-prefix', ...revisions]
  const lines = readDiff(git(root, [...args, '--', 'src']).toString())
  if (revision !== undefined) return lines
  const added = git(root, ['ls-files', '-z', '--others', '--exclude-standard', '--', 'src'])
  const whole = added.toString().split('\0').filter(Boolean)
  return new Map([...lines, ...whole.map((path) => [path, allLines(join(root, path))] as const)])
}

function allLines(path: string): ReadonlySet<number> {
  return new Set(
    readFileSync(path, 'utf8')
      .split('\n')
      .keys()
      .map((index) => index + 1),
  )
}

function readDiff(diff: string): Lines {
  const lines = new Map<string, Set<number>>()
  let current = new Set<number>()
  for (const line of diff.split('\n')) {
    const file = /^\+\+\+ (.+)$/.exec(line)?.[1]
    if (file !== undefined) lines.set(file, (current = new Set()))
    const [, first, count = '1'] = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(line) ?? []
    if (first === undefined) continue
    for (let i = 0; i < Number(count); i++) current.add(Number(first) + i)
  }
  return lines
}
