import { posix } from 'node:path'
import { codeOf } from './code-only.ts'
import { isTypeScript, lineAt, type SourceFile } from './rule.ts'

export interface Import {
  readonly from: string
  readonly line: number
  readonly specifier: string
  /** The file that a relative specifier names, relative to the root; undefined for packages. */
  readonly target: string | undefined
  /** `import type` and `export type … from`: erased at run time. */
  readonly typeOnly: boolean
}

const STATIC = /(?<![\w$.])(?:import|export)\b(\s+type\b(?!\s+from\b))?[\w$*{}\s,]*?(['"])( *)\2/g
const DYNAMIC = /(?<![\w$.])import\s*\(\s*(['"])( *)\1/g

export function importsOf(file: SourceFile): readonly Import[] {
  if (!isTypeScript(file.path)) return []
  const code = codeOf(file)
  const found: Import[] = []
  const add = (offset: number, length: number, quoted: number, typeOnly: boolean) => {
    const end = offset + length - 1
    const specifier = file.text.slice(end - quoted, end)
    const isRelative = specifier.startsWith('./') || specifier.startsWith('../')
    const target = isRelative ? posix.join(posix.dirname(file.path), specifier) : undefined
    found.push({ from: file.path, line: lineAt(code, end), specifier, target, typeOnly })
  }
  for (const match of code.matchAll(STATIC)) {
    // `export const name = 'text'` has no `from`; the pattern cannot tell it apart, this check can.
    const head = match[0].trimEnd()
    if (head.startsWith('export') && !/\bfrom\s*['"]/.test(head)) continue
    add(match.index, match[0].length, match[3]?.length ?? 0, match[1] !== undefined)
  }
  for (const match of code.matchAll(DYNAMIC)) {
    add(match.index, match[0].length, match[2]?.length ?? 0, false)
  }
  return found
}
