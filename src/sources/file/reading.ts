import * as z from 'zod'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Report } from '../../diagnostics/report.ts'
import { hasErrors, type Result, refusal, success } from '../../diagnostics/result.ts'
import {
  checkExpression,
  type Found,
  fillMaterials,
  findAnnotated,
  type Stage,
} from '../../policies/schema.ts'
import {
  type Document,
  diagnosticAt,
  type Message,
  originInside,
  type Path,
  spanOf,
  valueAt,
} from './document.ts'
import type { NamedFiles } from './files.ts'
import { diagnoseIssues } from './issues.ts'

/** One pass over one Document: what its parts are read with. */
export interface Reading {
  readonly document: Document
  readonly report: Report
  readonly files: NamedFiles
  /** Backends that were named by something, to be looked up when all are known. */
  readonly references: BackendReference[]
}

export interface BackendReference {
  readonly backend: string
  readonly path: Path
}

export interface ParseOptions {
  /** Where its expressions run. */
  readonly stage?: Stage
  /** Keys of the mapping that somebody else reads. */
  readonly except?: readonly string[]
}

/**
 * The value at the path as the schema understands it, or all that is wrong with it: its shape,
 * its expressions, the files that it names. What is said is reported, too.
 */
export function parseAt<S extends z.ZodType>(
  reading: Reading,
  schema: S,
  path: Path,
  { stage = 'traffic', except = [] }: ParseOptions = {},
): Result<NonNullable<z.output<S>>> {
  const { document } = reading
  const input = without(valueAt(document, path), except)
  const parsed = z.safeParse(schema, input)
  if (!parsed.success) {
    const context = { document, path, schema, furtherKeys: except }
    const diagnostics = diagnoseIssues(parsed.error.issues, context)
    for (const diagnostic of diagnostics) reading.report(diagnostic)
    return refusal(diagnostics)
  }
  const found = findAnnotated(schema, input)
  const diagnostics = found.flatMap((one) => checkPart(reading, one, path, stage))
  for (const diagnostic of diagnostics) reading.report(diagnostic)
  if (hasErrors(diagnostics)) return refusal(diagnostics)
  const namesFiles = found.some(({ annotation }) => annotation.is === 'path')
  const value = namesFiles ? fillMaterials(parsed.data, reading.files.textOf) : parsed.data
  return success(value as NonNullable<z.output<S>>, diagnostics)
}

/** A message about the value, or the key, at the path; reported and given back. */
export function complain(
  { document, report }: Reading,
  path: Path,
  message: Message,
  part: 'key' | 'value' = 'value',
): Diagnostic {
  const diagnostic = diagnosticAt(document, spanOf(document, path, part), message)
  report(diagnostic)
  return diagnostic
}

/** What the schema cannot see: does the expression compile, is the file there? */
function checkPart(
  { document, files, references }: Reading,
  { annotation, path: inner, value }: Found,
  path: Path,
  stage: Stage,
): readonly Diagnostic[] {
  const at = [...path, ...inner]
  if (typeof value !== 'string') return []
  if (annotation.is === 'expression') {
    const { result, stage: own = stage } = annotation
    return checkExpression(value, own, result, originInside(document, at))
  }
  if (annotation.is === 'backend') {
    references.push({ backend: value, path: at })
    return []
  }
  const problem = files.read(value, at)
  if (problem === undefined) return []
  return [diagnosticAt(document, spanOf(document, at, 'value'), problem)]
}

function without(value: unknown, keys: readonly string[]): unknown {
  if (keys.length === 0 || typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)))
}
