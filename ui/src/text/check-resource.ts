import { checkText, secretPaths } from '../../../src/sources/file/editing.ts'
import type { Kind } from '../forms/schema.ts'
import { shapeOfKind } from '../kinds/resource-id.ts'
import { type FieldPath, type Span, TextPlaces } from './places.ts'
import { readText } from './with-value.ts'

/** A message about a text, with its place. */
export interface Mark extends Span {
  readonly code: string
  readonly severity: 'error' | 'warning' | 'info'
  readonly message: string
  readonly hint?: string | undefined
  /** From 1. */
  readonly line: number
  readonly path: FieldPath
}

/** What the gateway's own reader says of the text of one resource. */
export function checkResource(kind: Kind, id: string, text: string): readonly Mark[] {
  const places = new TextPlaces(text)
  const read = readText(text)
  if ('errors' in read) {
    return read.errors.map(({ pos: [from, to], message }) =>
      markAt(places, text, { from, to }, { code: 'YAML', severity: 'error', message }),
    )
  }
  const head = /^(---|\.\.\.|%)/m.exec(text)
  if (head !== null) {
    const span = { from: head.index, to: head.index + head[0].length }
    const message = 'write the resource alone, without document markers'
    return [markAt(places, text, span, { code: 'YAML', severity: 'error', message })]
  }
  const { above, indent } = wrappingOf(kind, id)
  const lines = text
    .split('\n')
    .map((line) => (line === '' ? line : `${' '.repeat(indent)}${line}`))
  return checkText(`${above.join('\n')}\n${lines.join('\n')}`, kind).map((found) => {
    const { origin, excerpt, code, severity, message, hint } = found
    const at = origin.kind === 'file' ? origin : { line: 1, column: 1 }
    const line = at.line - above.length
    const from = line < 1 ? 0 : places.offsetAt(line, Math.max(1, at.column - indent))
    const to = from + Math.max(1, excerpt === undefined ? 1 : excerpt.end - excerpt.start)
    return markAt(places, text, { from, to }, { code, severity, message, hint })
  })
}

function markAt(
  places: TextPlaces,
  text: string,
  span: Span,
  said: Pick<Mark, 'code' | 'severity' | 'message' | 'hint'>,
): Mark {
  const from = Math.min(span.from, text.length)
  const to = Math.max(from, Math.min(span.to, text.length))
  return { ...said, from, to, line: places.lineAt(from), path: places.pathAt(from) }
}

/** The lines around a resource in a file. */
function wrappingOf(kind: Kind, id: string) {
  switch (shapeOfKind(kind)) {
    case 'single':
      return { above: [`${kind}:`], indent: 2 }
    case 'list':
      return { above: [`${kind}:`, '-'], indent: 2 }
    case 'record':
      return { above: [`${kind}:`, `  ${JSON.stringify(id)}:`], indent: 4 }
  }
}

/** The spans of values that must not be readable over the shoulder. */
export function secretSpans(kind: Kind, id: string, text: string): readonly Span[] {
  const read = readText(text)
  if (!('value' in read)) return []
  const { configuration, depth } = configurationOf(kind, id, read.value)
  const places = new TextPlaces(text)
  return secretPaths(configuration).flatMap((path) => {
    const own = path.slice(depth).map((step) => (typeof step === 'number' ? step : String(step)))
    const span = places.valueSpanOf(own)
    return span === undefined || isReference(text.slice(span.from, span.to)) ? [] : [span]
  })
}

/** How the admin API shows a secret that is stored. */
export function isReference(text: string): boolean {
  return /^\(secret( [0-9a-f]+)?\)$/.test(text)
}

function configurationOf(kind: Kind, id: string, value: unknown) {
  switch (shapeOfKind(kind)) {
    case 'single':
      return { configuration: { [kind]: value }, depth: 1 }
    case 'list':
      return { configuration: { [kind]: [value] }, depth: 2 }
    case 'record':
      return { configuration: { [kind]: { [id]: value } }, depth: 2 }
  }
}
