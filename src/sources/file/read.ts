import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { collector } from '../../diagnostics/report.ts'
import { type Result, rejection, success } from '../../diagnostics/result.ts'
import type { Message } from '../../reach/checks/place.ts'
import {
  type Document,
  diagnosticAt,
  lineStarts,
  type Piece,
  type PieceList,
  type Place,
  type Span,
} from './document.ts'
import { type Environment, type Expanded, expand } from './expand.ts'
import { type Node, resolvePlain, type Scalar, type ScalarNode } from './node.ts'
import { PartNames } from './part-names.ts'
import type { Problem } from './problem.ts'
import { type ItemPlaces, readListItem, readOutline } from './quick-yaml.ts'
import { RepeatedBlocks } from './repeated-blocks.ts'
import { offsetsOf } from './scalar-offsets.ts'
import { readYaml } from './yaml-tree.ts'

export interface ReadOptions {
  /** The name of the text in messages. */
  readonly file: string
  /** If undefined, `$` has no special meaning. */
  readonly environment: Environment | undefined
  /** `quickly` reads piece by piece; `whole` uses `yaml`, which reads all of YAML. */
  readonly how: 'quickly' | 'whole'
}

/**
 * Parses YAML or JSON into a Document; reports all errors of the text, not only the first one.
 * `quickly` throws NotQuick for a text that it cannot read, here or when a piece of the Document is
 * read.
 */
export function readDocument(
  source: string,
  { file, environment, how }: ReadOptions,
): Result<Document> {
  const text = source.startsWith('\ufeff') ? source.slice(1) : source
  const outline = how === 'quickly' ? readOutline(text) : undefined
  if (how === 'quickly' && outline === undefined) throw new NotQuick()
  const { root = EMPTY, problems } =
    outline === undefined ? readYaml(text) : { root: outline.root, problems: [] }
  const unfilled = collector()
  const place = { file, text, lines: lineStarts(text) }
  const diagnostics: Diagnostic[] = problems.map((problem) => said(place, problem, problem))
  if (diagnostics.length > 0) return rejection(diagnostics)
  const filling: Filling = (node, value) =>
    environment &&
    expand(value, environment, (problem) => {
      unfilled.report(said(place, spanInside(node, text, problem), problem))
    })
  const lists = new Map(
    [...(outline?.lists ?? [])].map(([key, places]) => [key, piecesOf(text, places, filling)]),
  )
  return success({
    ...place,
    ...pieceOf(root, filling),
    lists,
    parts: new PartNames(),
    unfilled: unfilled.diagnostics,
  })
}

/** Thrown for a text that only `yaml` can read. */
export class NotQuick extends Error {}

/** Caches the last piece, since the reader of an item accesses many of its parts. */
function piecesOf(text: string, places: ItemPlaces, filling: Filling): PieceList {
  let known: { readonly index: number; readonly piece: Piece } | undefined
  const blocks = new RepeatedBlocks()
  const { starts, end } = places
  return {
    length: starts.length,
    spanOf: (index) => ({ start: starts[index] ?? end, end: starts[index + 1] ?? end }),
    at(index) {
      if (known?.index === index) return known.piece
      const node = readListItem(text, places, index, blocks)
      if (node === undefined) throw new NotQuick()
      known = { index, piece: pieceOf(node, filling) }
      return known.piece
    },
  }
}

/** Expands the variables of a scalar; undefined if there are none. */
type Filling = (node: ScalarNode, value: string) => Expanded | undefined

function pieceOf(root: Node, filling: Filling): Piece {
  let expanded: Map<Node, Expanded> | undefined
  const fill = (node: ScalarNode, text: string) => {
    const filled = filling(node, text)
    if (filled === undefined) return text
    expanded ??= new Map()
    expanded.set(node, filled)
    // `port: ${PORT}` is a number, as it is when written literally.
    return node.style === 'plain' ? resolvePlain(filled.text) : filled.text
  }
  return { root, value: plain(root, fill), expanded: expanded ?? NO_EXPANSIONS }
}

const NO_EXPANSIONS: ReadonlyMap<Node, Expanded> = new Map()

const EMPTY: Node = { kind: 'mapping', entries: [], start: 0, end: 0 }

function said(place: Place, span: Span, { code, severity = 'error', message, hint }: Problem) {
  const words: Message = { code, severity, message, hint }
  return diagnosticAt(place, span, words)
}

function spanInside(node: ScalarNode, text: string, { start, end }: Span): Span {
  const offsets = offsetsOf(node, text)
  return { start: offsets?.[start] ?? node.start, end: offsets?.[end] ?? node.end }
}

function plain(node: Node, fill: (node: ScalarNode, text: string) => Scalar): unknown {
  if (node.kind === 'scalar') {
    const { value } = node
    return typeof value === 'string' && value.includes('$') ? fill(node, value) : value
  }
  if (node.kind === 'list') return node.items.map((item) => plain(item, fill))
  const value: Record<string, unknown> = {}
  for (const { key, value: inner, block } of node.entries) {
    if (block === undefined) value[key] = plain(inner, fill)
    else value[key] = block.value ??= plain(inner, fill)
  }
  return value
}
