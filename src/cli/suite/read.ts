import { readFileSync } from 'node:fs'
import type * as z from 'zod'
import type { Invariant } from '../../analysis/invariants/suppose.ts'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { locate, positioned } from '../../diagnostics/places.ts'
import { hasErrors, type Result, rejection, success } from '../../diagnostics/result.ts'
import { sentenceOf } from '../../diagnostics/system-error.ts'
import { checkExpression } from '../../policies/schema.ts'
import type { Document } from '../../sources/file/document.ts'
import { DocumentPlaces } from '../../sources/file/document-places.ts'
import { diagnoseIssues } from '../../sources/file/issues.ts'
import { readDocument } from '../../sources/file/read.ts'
import { SectionNode } from '../../sources/file/section-node.ts'
import { type Suite, suiteSchema } from './format.ts'

/** Reads a file of cases; returns all errors with their positions. */
export function readSuite(file: string): Result<Suite> {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const message = `cannot read the file: ${sentenceOf(error)}`
    const origin = { kind: 'file', file, line: 1, column: 1 } as const
    return rejection([{ code: 'PC0601', severity: 'error', message, origin }])
  }
  return parseSuite(text, file)
}

export function parseSuite(text: string, file: string): Result<Suite> {
  // Variables belong to the configuration, which is read separately: here a dollar is literal.
  const read = readDocument(text, { file, environment: undefined, how: 'whole' })
  const { value: document } = read
  if (document === undefined) return rejection(read.diagnostics.map(as('PC0601')))
  const parsed = suiteSchema.safeParse(document.value)
  if (parsed.success) return readInvariants(document, parsed.data)
  const context = { node: SectionNode.of(document), schema: suiteSchema }
  const places = new DocumentPlaces(document)
  const wrong = diagnoseIssues(parsed.error.issues, context).map(as('PC0602'))
  return rejection(wrong.map((one) => positioned(places, one)))
}

/** Reads invariants with their origins; their expressions can read what rules of a backend can. */
function readInvariants(document: Document, suite: z.output<typeof suiteSchema>): Result<Suite> {
  const wrong: Diagnostic[] = []
  const places = new DocumentPlaces(document)
  const invariants = suite.invariants.map(({ when, admitted, ...rest }, index): Invariant => {
    const condition = String(admitted)
    const node = SectionNode.of(document).inner('invariants', index)
    for (const [key, text] of [
      ['when', when],
      ['admitted', condition],
    ] as const) {
      if (text === undefined) continue
      const found = checkExpression(text, 'backend', 'rule', node.inner(key).originInside)
      wrong.push(...found.map((one) => positioned(places, one)))
    }
    return { ...rest, when, admitted: condition, origin: locate(places, node.origin) }
  })
  if (hasErrors(wrong)) return rejection(wrong)
  // A constant condition is valid here: `false` states that nothing is admitted.
  return success(
    { ...suite, invariants },
    wrong.filter(({ code }) => code !== 'PC0110'),
  )
}

/** Keeps the messages of the configuration reader, with the code of suite files. */
function as(code: string): (said: Diagnostic) => Diagnostic {
  return (said) => ({ ...said, code })
}
