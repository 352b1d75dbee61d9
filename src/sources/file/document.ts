import type {
  Diagnostic,
  Excerpt,
  ObjectOrigin,
  Origin,
  Position,
} from '../../diagnostics/diagnostic.ts'
import type { Message } from '../../reach/checks/place.ts'
import type { Expanded } from './expand.ts'
import type { Entry, Node, ScalarNode } from './node.ts'
import type { PartNames } from './part-names.ts'
import { offsetsOf } from './scalar-offsets.ts'

/** The user's input: the text, the tree with positions, and the plain value to validate. */
export interface Document extends Place, Piece {
  /** The items of these keys are not in the tree: each is a separate piece. */
  readonly lists: ReadonlyMap<PropertyKey, PieceList>
  /** The names of these items, and of those in the tree. */
  readonly parts: PartNames
  /** Problems with the variables of the parts read so far. */
  readonly unfilled: () => readonly Diagnostic[]
}

/** The data needed to locate an offset. */
export interface Place {
  readonly file: string
  readonly text: string
  /** Offsets of line starts. */
  readonly lines: readonly number[]
  /** The origin of a line that is not in the file. */
  readonly beyond?: ((line: number) => ObjectOrigin | undefined) | undefined
}

/** A part of a text, with its positions and its value. */
export interface Piece {
  readonly root: Node
  /** With variables expanded. */
  readonly value: unknown
  readonly expanded: ReadonlyMap<Node, Expanded>
  /** The name in messages of a piece that is not in a file; positions in it are fields. */
  readonly object?: string | undefined
  /** The place that its offsets refer to, if not the document that it belongs to. */
  readonly place?: Place | undefined
}

/** Pieces are created on demand, since all of them at once would use too much memory. */
export interface PieceList {
  readonly length: number
  at(index: number): Piece
  /** The span of the item up to the next one. */
  spanOf(index: number): Span
}

export type Path = readonly PropertyKey[]

/** Offsets in the text; the end is exclusive. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** A diagnostic about a span; `origin`: its place if that is not located yet. */
export function diagnosticAt(
  place: Place,
  span: Span,
  message: Message,
  origin: Origin | Position = positionAt(place, span.start),
): Diagnostic {
  const { code, severity = 'error', hint } = message
  const diagnostic = {
    code,
    severity,
    message: message.message,
    origin,
    excerpt: excerptOf(place, span),
  }
  return hint === undefined ? diagnostic : { ...diagnostic, hint }
}

/** The line at a position; marks the key or word that begins there. */
export function excerptOfWord(place: Place, { line, column }: Position): Excerpt | undefined {
  const first = place.lines[line - 1]
  if (first === undefined) return undefined
  let start = first
  for (let at = 1; at < column; at++) {
    start += (place.text.codePointAt(start) ?? 0) > 0xffff ? 2 : 1
  }
  const [word = ''] = /^([\w.-]+|.*)/.exec(place.text.slice(start, start + MAX_MARKED)) ?? []
  return excerptOf(place, { start, end: start + word.length })
}

const MAX_MARKED = 80

/** For a place that is not in the file: the object and field that it is in. */
export function originBeyond(place: Place, offset: number): ObjectOrigin | undefined {
  return place.beyond?.(lineAt(place.lines, offset))
}

export function positionAt({ file, text, lines }: Place, offset: number): Position {
  const line = lineAt(lines, offset)
  const start = lines[line - 1] as number
  // Columns count code points: a surrogate pair is one.
  const pairs = pairsIn(text, lines)
  const column = 1 + offset - start - (countBefore(pairs, offset) - countBefore(pairs, start))
  return { kind: 'file', file, line, column }
}

const pairsByLines = new WeakMap<readonly number[], readonly number[]>()

/** The offsets of low surrogates: a whole file may be one line, so none is counted again. */
function pairsIn(text: string, lines: readonly number[]): readonly number[] {
  const counted = pairsByLines.get(lines)
  if (counted !== undefined) return counted
  const pairs = [...text.matchAll(/[\udc00-\udfff]/g)].map(({ index }) => index)
  pairsByLines.set(lines, pairs)
  return pairs
}

/** How many of the offsets, which are in order, are below this one. */
function countBefore(offsets: readonly number[], offset: number): number {
  let [low, high] = [0, offsets.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((offsets[middle] as number) < offset) low = middle + 1
    else high = middle
  }
  return low
}

/** The span of the value at the path, or of its nearest existing ancestor. */
export function spanOf(document: Document, path: Path, part: 'key' | 'value'): Span {
  return spanOfLocated(locate(document, path), part)
}

export function spanOfLocated({ node, entry, isThere }: Located, part: 'key' | 'value'): Span {
  const key = entry && { start: entry.keyStart, end: entry.keyEnd }
  if (part === 'key' && key !== undefined) return key
  // A mapping or list is represented by its key, or by its start.
  if (node.kind === 'scalar') return isThere || key === undefined ? node : key
  return key ?? node
}

/** Maps an offset within the value of a scalar to its offset in the text. */
export function offsetWithin(place: Place, located: Located): (offset: number) => number {
  const { node, isThere, piece } = located
  if (node.kind !== 'scalar' || !isThere) return () => spanOfLocated(located, 'key').start
  const offsets = sourceOffsets(place.text, piece, node)
  return (offset) => offsets?.[Math.min(offset, offsets.length - 1)] ?? node.start
}

/** The source offset of each unit of a scalar's expanded value. */
function sourceOffsets(
  text: string,
  piece: Piece,
  node: ScalarNode,
): readonly number[] | undefined {
  const offsets = offsetsOf(node, text)
  const expanded = piece.expanded.get(node)
  if (offsets === undefined || expanded === undefined) return offsets
  return expanded.sources.map((source) => offsets[source] as number)
}

export function pieceAt(list: PieceList, index: PropertyKey | undefined): Piece | undefined {
  const isThere = typeof index === 'number' && index >= 0 && index < list.length
  return isThere ? list.at(index) : undefined
}

/** The node at a path, or its nearest existing ancestor. */
export interface Located {
  /** With its positions at this path. */
  readonly node: Node
  readonly entry: Entry | undefined
  readonly isThere: boolean
  /** The piece that contains the node. */
  readonly piece: Piece
  /** The node as its piece has it: a repeated block keeps the positions of its first occurrence. */
  readonly own: Node
  readonly shift: number
}

export function locate(document: Document, path: Path): Located {
  const [key = '', index] = path
  const list = path.length < 2 ? undefined : document.lists.get(key)
  if (list === undefined) return locateIn(document, path, 0)
  const piece = pieceAt(list, index)
  if (piece !== undefined) return locateIn(piece, path, 2)
  return { ...locateIn(document, [key], 0), isThere: false }
}

/** Follows the path from the given step. */
export function locateIn(piece: Piece, path: Path, from: number): Located {
  let located = locateRoot(piece)
  for (let i = from; i < path.length && located.isThere; i++) {
    located = locateStep(located, path[i] as PropertyKey)
  }
  return located
}

export function locateRoot(piece: Piece): Located {
  const { root } = piece
  return { node: root, entry: undefined, isThere: true, piece, own: root, shift: 0 }
}

export function locateStep(outer: Located, step: PropertyKey): Located {
  const { own, piece } = outer
  if (!outer.isThere) return outer
  const through = own.kind === 'mapping' ? own.entries.find(({ key }) => key === step) : undefined
  const next = own.kind === 'list' ? own.items[Number(step)] : through?.value
  if (next === undefined) return { ...outer, isThere: false }
  const entry = through && moved(through, outer.shift)
  const shift = outer.shift + (through?.shift ?? 0)
  return { node: shifted(next, shift), entry, isThere: true, piece, own: next, shift }
}

function shifted(node: Node, shift: number): Node {
  if (shift === 0) return node
  return { ...node, start: node.start + shift, end: node.end + shift }
}

function moved(entry: Entry, shift: number): Entry {
  if (shift === 0) return entry
  return { ...entry, keyStart: entry.keyStart + shift, keyEnd: entry.keyEnd + shift }
}

function lineAt(lines: readonly number[], offset: number): number {
  let low = 0
  let high = lines.length
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((lines[middle] as number) <= offset) low = middle
    else high = middle
  }
  return low + 1
}

export function lineStarts(text: string): readonly number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

/** The line that the span begins on; further lines of the span are not shown. */
function excerptOf({ text, lines }: Place, { start, end }: Span): Excerpt {
  const line = lineAt(lines, start)
  const first = lines[line - 1] as number
  const next = lines[line] ?? text.length + 1
  const shown = text.slice(first, next - 1).replace(/\r$/, '')
  const from = Math.min(start - first, shown.length)
  const to = Math.max(from, Math.min(end - first, shown.length))
  const all = masked(shown)
  const meant = masked(shown.slice(from, to))
  return { text: all.slice(0, from) + meant + all.slice(to), start: from, end: to }
}

/** Values that are credentials by the name of their key, and passwords in URLs. */
const CREDENTIALS =
  /((?:auth|authorization|cookie|credentials?|inline|key|passw[a-z]*|secret|token)["']?:\s*)(\[[^\]{}]*\]?|"[^"]*"?|'[^']*'?|[^,{}[\]"'#]+)/gi
const USER_INFO = /(:\/\/[^\s/@:"']*:)([^\s/@"']+)(?=@)/g

/**
 * Messages go to logs, and a line may contain other values. A value that is itself wrong is shown,
 * because it could not be fixed otherwise.
 */
function masked(text: string): string {
  const mask = (_: string, before: string, value: string) =>
    before + (/^["']?\$/.test(value) ? value : value.replaceAll(/[^"'\s]/g, '*'))
  return text.replaceAll(CREDENTIALS, mask).replaceAll(USER_INFO, mask)
}
