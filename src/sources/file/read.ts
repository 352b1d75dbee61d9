import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { type Result, refusal, success } from '../../diagnostics/result.ts'
import { type Document, diagnosticAt, lineStarts, type Message, type Span } from './document.ts'
import { type Environment, type Expanded, expand } from './expand.ts'
import { type Node, resolvePlain, type Scalar, type ScalarNode } from './node.ts'
import type { Problem } from './problem.ts'
import { readQuickly } from './quick-yaml.ts'
import { offsetsOf } from './scalar-offsets.ts'
import { readYaml } from './yaml-tree.ts'

export interface ReadOptions {
  /** What messages call the text. */
  readonly file: string
  readonly environment: Environment
}

/** YAML or JSON to a Document; all that is wrong with the text, not only the first thing. */
export function readDocument(source: string, { file, environment }: ReadOptions): Result<Document> {
  const text = source.startsWith('\ufeff') ? source.slice(1) : source
  const quick = readQuickly(text)
  const { root = EMPTY, problems } =
    quick === undefined ? readYaml(text) : { root: quick, problems: [] }
  const expanded = new Map<Node, Expanded>()
  const draft = { file, text, lines: lineStarts(text), root, value: undefined, expanded }
  const diagnostics: Diagnostic[] = problems.map((problem) => said(draft, problem, problem))
  if (diagnostics.length > 0) return refusal(diagnostics)
  const value = plain(root, (node) => {
    const { value } = node
    if (typeof value !== 'string') return value
    const filled = expand(value, environment, (problem) => {
      diagnostics.push(said(draft, spanInside(node, text, problem), problem))
    })
    if (filled === undefined) return value
    expanded.set(node, filled)
    // `port: ${PORT}` is a number, as it would be if it were written out.
    return node.style === 'plain' ? resolvePlain(filled.text) : filled.text
  })
  return diagnostics.length > 0 ? refusal(diagnostics) : success({ ...draft, value })
}

const EMPTY: Node = { kind: 'mapping', entries: [], start: 0, end: 0 }

function said(document: Document, span: Span, { code, message, hint }: Problem) {
  const words: Message = { code, message, hint }
  return diagnosticAt(document, span, words)
}

function spanInside(node: ScalarNode, text: string, { start, end }: Span): Span {
  const offsets = offsetsOf(node, text)
  return { start: offsets?.[start] ?? node.start, end: offsets?.[end] ?? node.end }
}

function plain(node: Node, scalar: (node: ScalarNode) => Scalar): unknown {
  if (node.kind === 'scalar') return scalar(node)
  if (node.kind === 'list') return node.items.map((item) => plain(item, scalar))
  const value: Record<string, unknown> = {}
  for (const entry of node.entries) value[entry.key] = plain(entry.value, scalar)
  return value
}
