import { codeOf } from './code-only.ts'
import type { SourceFile } from './rule.ts'

export interface SizeComparison {
  /** Below src. */
  readonly path: string
  readonly line: number
  /** `text.length > MAX_TEXT` */
  readonly test: string
  /** `MAX_TEXT` */
  readonly constant: string
}

const CONSTANT = '[A-Z][A-Z0-9_]+|[0-9][0-9_]*'
const SIZE = '[\\w$.#?]*(?:length|Length|size|Size|count|letters)'
const COMPARISON = new RegExp(
  `(?<![\\w$.#])(?:${SIZE} [<>]=? (?<right>${CONSTANT})|(?<left>${CONSTANT}) [<>]=? ${SIZE})(?![\\w.(])`,
  'g',
)

/** Comparisons of a length, size or count with a constant; up to 2, this is about none and single. */
export function sizeComparisons(files: readonly SourceFile[]): readonly SizeComparison[] {
  return files.flatMap((file) => {
    const code = codeOf(file)
    return [...code.matchAll(COMPARISON)].flatMap(({ 0: test, index, groups = {} }) => {
      const constant = groups.right ?? groups.left ?? ''
      if (/^[012]$/.test(constant)) return []
      const line = code.slice(0, index).split('\n').length
      return [{ path: file.path.replace(/^src\//, ''), line, test, constant }]
    })
  })
}
