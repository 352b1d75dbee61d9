import * as z from 'zod'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Report } from '../../diagnostics/report.ts'
import { hasErrors, type Result, rejection, success } from '../../diagnostics/result.ts'
import type { Parent, RouteAction } from '../../model/route.ts'
import {
  checkExpression,
  type Found,
  fillMaterials,
  findAnnotated,
  type PolicySchema,
  type Stage,
} from '../../policies/schema.ts'
import type { BackendReference } from '../../reach/checks/draft.ts'
import type { Message } from '../../reach/checks/place.ts'
import { type Document, diagnosticAt, type Path } from './document.ts'
import type { NamedFiles } from './files.ts'
import { diagnoseIssues } from './issues.ts'
import { SectionNode } from './section-node.ts'

/** One pass over one Document: what its parts are read with. */
export interface Reading {
  readonly document: Document
  /** The whole of it. */
  readonly root: SectionNode
  readonly report: Report
  readonly files: NamedFiles
  /** Backends that were named by something, to be looked up when all are known. */
  readonly references: BackendReference[]
  /** What was checked and found in order, by how it is written: most policies stand there often. */
  readonly checked: Map<z.ZodType, Map<Stage, Memory>>
  readonly repeated: Repeated
  /** Groups of routes that others delegate to. */
  readonly delegatedTo: Set<string>
  /** Called where an item depends on more than its own text and the files that it names. */
  dependsOnMore(): void
  /** Called where an item has no name, and is called by its number. */
  dependsOnNumber(): void
}

/** What many routes have, each once: by the name of the gateway, and of the backend. */
interface Repeated {
  readonly parents: Map<string, readonly Parent[]>
  readonly actions: Map<string, RouteAction>
}

export function beginReading(document: Document, report: Report, files: NamedFiles): Reading {
  const repeated = { parents: new Map(), actions: new Map() }
  const root = SectionNode.of(document)
  return {
    document,
    root,
    report,
    files,
    references: [],
    checked: new Map(),
    repeated,
    delegatedTo: new Set(),
    dependsOnMore() {},
    dependsOnNumber() {},
  }
}

interface Memory {
  readonly texts: Map<string, Checked>
  /** The same once more, for values that are not only alike: one look instead of a long one. */
  readonly values: Map<unknown, Checked>
}

interface Checked {
  readonly data: unknown
  /** What is looked at each time: files and names of backends. */
  readonly found: readonly Found[]
}

/** Texts that are remembered for a schema; more would rather fill the memory than save time. */
const MAX_CHECKED = 1_000

export interface ParseOptions {
  /** Where its expressions run. */
  readonly stage?: Stage
  /** Keys of the mapping that somebody else reads. */
  readonly except?: readonly string[]
  /** The same is probably written elsewhere too: there it need not be checked again. */
  readonly isRepeated?: boolean
  /** Tried before the schema, which takes longer. */
  readonly quick?: PolicySchema['quick']
}

/**
 * The value of the node as the schema understands it, or all that is wrong with it: its shape,
 * its expressions, the files that it names. What is said is reported, too.
 */
export function parseAt<S extends z.ZodType>(
  reading: Reading,
  schema: S,
  node: SectionNode,
  { stage = 'traffic', except = [], isRepeated = false, quick }: ParseOptions = {},
): Result<NonNullable<z.output<S>>> {
  const input = without(node.value, except)
  const memory = isRepeated ? memoryOf(reading, schema, stage, input) : undefined
  const known = memory?.known
  const shape = known ?? quick?.(input) ?? checkShape(reading, schema, node, input, except)
  if ('issues' in shape) return rejection(shape.issues)
  const { data, found } = shape
  const diagnostics =
    found.length === 0
      ? NO_DIAGNOSTICS
      : found.flatMap((one) => checkPart(reading, one, node, stage))
  for (const diagnostic of diagnostics) reading.report(diagnostic)
  if (hasErrors(diagnostics)) return rejection(diagnostics)
  if (memory !== undefined && known === undefined && diagnostics.length === 0) {
    remember(memory, shape)
  }
  const namesFiles = found.some(({ annotation }) => annotation.is === 'path')
  const value = namesFiles ? fillMaterials(data, reading.files) : data
  return success(value as NonNullable<z.output<S>>, diagnostics)
}

const NO_DIAGNOSTICS: readonly Diagnostic[] = []

function checkShape(
  { report }: Reading,
  schema: z.ZodType,
  node: SectionNode,
  input: unknown,
  furtherKeys: readonly string[],
): Checked | { readonly issues: readonly Diagnostic[] } {
  const parsed = z.safeParse(schema, input)
  if (parsed.success) return { data: parsed.data, found: findAnnotated(schema, input) }
  const context = { node, schema, furtherKeys }
  const issues = diagnoseIssues(parsed.error.issues, context)
  for (const issue of issues) report(issue)
  return { issues }
}

/** What is remembered of a value, and where to remember it. */
function memoryOf({ checked }: Reading, schema: z.ZodType, stage: Stage, input: unknown) {
  let stages = checked.get(schema)
  if (stages === undefined) checked.set(schema, (stages = new Map()))
  let memory = stages.get(stage)
  if (memory === undefined) stages.set(stage, (memory = { texts: new Map(), values: new Map() }))
  const same = memory.values.get(input)
  if (same !== undefined) return { memory, text: '', known: same }
  const text = JSON.stringify(input)
  // Numbers that JSON has no words for look like null there.
  if (text === undefined || text.includes('null')) return undefined
  const known = memory.texts.get(text)
  if (known !== undefined && memory.values.size < MAX_CHECKED) memory.values.set(input, known)
  return { memory, text, known }
}

function remember(
  { memory: { texts }, text }: { readonly memory: Memory; readonly text: string },
  { data, found }: Checked,
): void {
  const again = found.filter(({ annotation }) => annotation.is !== 'expression')
  if (texts.size < MAX_CHECKED) texts.set(text, { data, found: again })
}

/** A message about a node or its key; reported and given back. */
export function complain(
  { report }: Reading,
  node: SectionNode,
  message: Message,
  part: 'key' | 'value' = 'value',
): Diagnostic {
  const diagnostic = diagnosticAt(node.where, node.span(part), message)
  report(diagnostic)
  return diagnostic
}

/** What the schema cannot see: does the expression compile, is the file there? */
function checkPart(
  { files, references }: Reading,
  { annotation, path: inner, value }: Found,
  node: SectionNode,
  stage: Stage,
): readonly Diagnostic[] {
  if (typeof value !== 'string') return []
  const at = node.inner(...inner)
  if (annotation.is === 'expression') {
    const { result, stage: own = stage } = annotation
    return checkExpression(value, own, result, at.originInside, true)
  }
  if (annotation.is === 'backend') {
    references.push({ backend: value, place: at.place, isRouted: isRouted(at.path) })
    return []
  }
  if (annotation.is === 'secret') return []
  if (annotation.is === 'credential') return checkCredential(at, annotation.hint)
  const problem = files.read(value, at) ?? annotation.check?.(files.textOf(value) ?? '')
  if (problem === undefined) return []
  const message = { code: 'PC0215', ...problem }
  return [diagnosticAt(at.where, at.span('value'), message)]
}

/** Named by a route of HTTP, or by a server of MCP. */
function isRouted(path: Path): boolean {
  return (path.at(-3) === 'backends' && !path.includes('tcpRoutes')) || path.includes('targets')
}

/** Without the line that it stands in: messages go to logs. */
function checkCredential(at: SectionNode, hint: string): readonly Diagnostic[] {
  if (at.isExpanded) return []
  const message = 'this credential is readable by anyone who can read the file'
  return [{ code: 'PC0504', severity: 'warning', message, origin: at.origin, hint }]
}

function without(value: unknown, keys: readonly string[]): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (!keys.some((key) => Object.hasOwn(value, key))) return value
  const rest: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    if (!keys.includes(key)) rest[key] = (value as Readonly<Record<string, unknown>>)[key]
  }
  return rest
}
