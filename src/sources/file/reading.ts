import * as z from 'zod'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { positioned } from '../../diagnostics/places.ts'
import type { Report } from '../../diagnostics/report.ts'
import { hasErrors, type Result, rejection, success } from '../../diagnostics/result.ts'
import type { Parent, RouteAction } from '../../model/route.ts'
import {
  type CheckText,
  checkExpression,
  type Found,
  fillMaterials,
  findAnnotated,
  type PolicySchema,
  type Stage,
} from '../../policies/schema.ts'
import type { BackendReference } from '../../reach/checks/draft.ts'
import type { Message } from '../../reach/checks/place.ts'
import type { Document, Path } from './document.ts'
import { DocumentPlaces } from './document-places.ts'
import { diagnoseIssues } from './issues.ts'
import type { NamedFiles } from './named-files.ts'
import { SectionNode } from './section-node.ts'

/** One pass over a Document: the shared state of its readers. */
export interface Reading {
  readonly document: Document
  /** The root of the document. */
  readonly root: SectionNode
  readonly report: Report
  readonly files: NamedFiles
  /** References to backends, resolved when all backends are known. */
  readonly references: BackendReference[]
  /** Values that passed the checks, by their text: most policies occur many times. */
  readonly checked: Map<z.ZodType, Map<Stage, Memory>>
  readonly repeated: Repeated
  /** Route groups that other routes delegate to. */
  readonly delegatedTo: Set<string>
  /** Called if an item depends on more than its own text and the files that it names. */
  dependsOnMore(): void
  /** Called if an item has no name and is named by its index. */
  dependsOnNumber(): void
}

/** Objects that many routes share: by gateway name and by backend name. */
interface Repeated {
  readonly parents: Map<string, readonly Parent[]>
  readonly actions: Map<string, RouteAction>
}

export function beginReading(document: Document, report: Report, files: NamedFiles): Reading {
  const repeated = { parents: new Map(), actions: new Map() }
  const root = SectionNode.of(document)
  const places = new DocumentPlaces(document)
  return {
    document,
    root,
    report: (diagnostic) => report(positioned(places, diagnostic)),
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
  /** The same, keyed by identity: a lookup without serializing the value. */
  readonly values: Map<unknown, Checked>
}

interface Checked {
  readonly data: unknown
  /** The parts that are checked each time: files and names of backends. */
  readonly found: readonly Found[]
}

/** The max number of cached texts per schema; more would cost more memory than it saves time. */
const MAX_CHECKED = 1_000

export interface ParseOptions {
  /** The stage at which its expressions run. */
  readonly stage?: Stage
  /** Keys of the mapping that another reader handles. */
  readonly except?: readonly string[]
  /** The same value probably occurs elsewhere and need not be checked again there. */
  readonly isRepeated?: boolean
  /** Tried before the schema, which is slower. */
  readonly quick?: PolicySchema['quick']
}

/**
 * Parses the value of the node by the schema, or returns all of its errors: its shape, its
 * expressions, the files that it names. Diagnostics are also reported.
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

/** The cached result for a value, and where to cache it. */
function memoryOf({ checked }: Reading, schema: z.ZodType, stage: Stage, input: unknown) {
  let stages = checked.get(schema)
  if (stages === undefined) checked.set(schema, (stages = new Map()))
  let memory = stages.get(stage)
  if (memory === undefined) stages.set(stage, (memory = { texts: new Map(), values: new Map() }))
  const same = memory.values.get(input)
  if (same !== undefined) return { memory, text: '', known: same }
  const text = JSON.stringify(input)
  // Numbers that JSON cannot represent, such as NaN, serialize as null.
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

/** Reports a diagnostic about a node or its key, and returns it. */
export function complain(
  { report }: Reading,
  node: SectionNode,
  message: Message,
  part: 'key' | 'value' = 'value',
): Diagnostic {
  const diagnostic = node.diagnose(message, part)
  report(diagnostic)
  return diagnostic
}

/** Checks what the schema cannot: that an expression compiles, that a file exists. */
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
  const problem = files.read(value, at) ?? checkFile(annotation, files.textOf(value))
  if (problem === undefined) return []
  const message = { code: 'PC0215', ...problem }
  return [at.diagnose(message)]
}

/** A file whose text is not available, as in a browser, is not checked. */
function checkFile({ check }: { readonly check?: CheckText }, text: string | undefined) {
  return text === undefined ? undefined : check?.(text)
}

/** Whether the reference belongs to an HTTP route or to an MCP server. */
function isRouted(path: Path): boolean {
  return (path.at(-3) === 'backends' && !path.includes('tcpRoutes')) || path.includes('targets')
}

/** Without an excerpt: messages go to logs. */
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
