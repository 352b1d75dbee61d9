import { readFileSync } from 'node:fs'
import { isNode, LineCounter, parseDocument } from 'yaml'
import type * as z from 'zod'
import type { Diagnostic, FileOrigin } from '../../diagnostics/diagnostic.ts'
import { type Result, refusal, success } from '../../diagnostics/result.ts'
import { type Suite, suiteSchema } from './format.ts'

/** A file of cases; all that is wrong with it, with places. */
export function readSuite(file: string): Result<Suite> {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const message = `the file cannot be read: ${(error as Error).message}`
    return refusal([{ code: 'PC0601', severity: 'error', message, origin: at(file, 1, 1) }])
  }
  return parseSuite(text, file)
}

export function parseSuite(text: string, file: string): Result<Suite> {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, prettyErrors: false })
  const place = (offset: number): FileOrigin => {
    const { line, col } = lineCounter.linePos(offset)
    return at(file, Math.max(line, 1), Math.max(col, 1))
  }
  const [broken] = document.errors
  if (broken !== undefined) {
    const origin = place(broken.pos[0])
    return refusal([{ code: 'PC0601', severity: 'error', message: broken.message, origin }])
  }
  const parsed = suiteSchema.safeParse(document.toJS())
  if (parsed.success) return success(parsed.data)
  return refusal(
    parsed.error.issues.map((issue): Diagnostic => {
      const origin = place(offsetAt(issue.path))
      return { code: 'PC0602', severity: 'error', message: messageOf(issue), origin }
    }),
  )

  /** Of the thing itself, or of the nearest around it that is there. */
  function offsetAt(path: readonly PropertyKey[]): number {
    for (let length = path.length; length >= 0; length--) {
      const node = document.getIn(path.slice(0, length), true)
      if (isNode(node) && node.range) return node.range[0]
    }
    return 0
  }
}

function messageOf(issue: z.core.$ZodIssue): string {
  const path = issue.path.map(String).join('.')
  const keys = issue.code === 'unrecognized_keys' ? `no key is called ${issue.keys.join(', ')}` : ''
  return `${path === '' ? 'the file' : `\`${path}\``}: ${keys || issue.message}`
}

function at(file: string, line: number, column: number): FileOrigin {
  return { kind: 'file', file, line, column }
}
