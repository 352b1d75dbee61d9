import type { Position } from '../../diagnostics/diagnostic.ts'
import { lineStarts } from './document.ts'
import type { Entry, ListNode, Node, ScalarNode } from './node.ts'
import { readYaml } from './yaml-tree.ts'

/** A change of one scalar, or of the list item that holds it; `from` is the expected text. */
export type Edit =
  | {
      readonly kind: 'rewrite'
      readonly at: Position
      readonly from: string
      readonly to: string
    }
  | { readonly kind: 'remove'; readonly at: Position; readonly from: string }

export interface Edited {
  readonly text: string
  /** The edits that were applied; the others were skipped. */
  readonly applied: readonly Edit[]
}

/**
 * Applies the edits in place: comments, order and formatting are preserved. Values that cannot be
 * edited safely, such as blocks or aliases, are skipped.
 */
export function applyEdits(text: string, edits: readonly Edit[]): Edited {
  const { root, problems } = readYaml(text)
  if (root === undefined || problems.length > 0) return { text, applied: [] }
  const lines = lineStarts(text)
  const planned = edits.flatMap((edit) => {
    const found = scalarsAt(root, offsetOf(text, lines, edit.at))
    const [only] = found
    if (only === undefined || found.length > 1 || only.scalar.value !== edit.from) return []
    const change =
      edit.kind === 'rewrite' ? rewritten(text, only, edit) : removed(text, lines, only)
    return change === undefined ? [] : [{ ...change, edit }]
  })
  const applied: Edit[] = []
  let result = text
  let before = Number.POSITIVE_INFINITY
  for (const { start, end, insert, edit } of planned.toSorted((a, b) => b.start - a.start)) {
    if (end > before) continue
    result = result.slice(0, start) + insert + result.slice(end)
    before = start
    applied.push(edit)
  }
  return { text: result, applied: applied.reverse() }
}

interface Change {
  readonly start: number
  readonly end: number
  readonly insert: string
}

/** A scalar, and the item of the nearest list that the scalar is, or is the only member of. */
interface Located {
  readonly scalar: ScalarNode
  readonly list: ListNode | undefined
  readonly item: Node | undefined
}

/** Scalars by start offset: an entry starts at its key, an item at itself. Aliases repeat them. */
function scalarsAt(root: Node, offset: number): readonly Located[] {
  const found: Located[] = []
  const visit = (node: Node, list: ListNode | undefined, item: Node | undefined) => {
    if (node.kind === 'scalar') {
      if (node.start === offset) found.push({ scalar: node, list, item })
    } else if (node.kind === 'list') for (const one of node.items) visit(one, node, one)
    else for (const entry of node.entries) visitEntry(entry, node.entries.length, list, item)
  }
  const visitEntry = (
    { keyStart, value }: Entry,
    siblings: number,
    list: ListNode | undefined,
    item: Node | undefined,
  ) => {
    const isOnly = siblings === 1
    if (value.kind !== 'scalar') visit(value, undefined, undefined)
    else if (keyStart === offset || value.start === offset) {
      found.push({
        scalar: value,
        list: isOnly ? list : undefined,
        item: isOnly ? item : undefined,
      })
    }
  }
  visit(root, undefined, undefined)
  return found
}

function rewritten(
  text: string,
  { scalar }: Located,
  { to }: { readonly to: string },
): Change | undefined {
  const { start, end, style } = scalar
  if (style === 'literal' || style === 'folded' || /[\n\r]/.test(to)) return undefined
  const quoted = { single: `'${to.replaceAll("'", "''")}'`, double: JSON.stringify(to), plain: to }
  for (const insert of [quoted[style], quoted.single, quoted.double]) {
    const { root } = readYaml(text.slice(0, start) + insert + text.slice(end))
    const isThere = root !== undefined && holds(root, start, start + insert.length, to)
    if (isThere) return { start, end, insert }
  }
  return undefined
}

/** Whether exactly this value is read there. */
function holds(root: Node, start: number, end: number, value: string): boolean {
  if (root.kind === 'scalar')
    return root.start === start && root.end === end && root.value === value
  const inner = root.kind === 'list' ? root.items : root.entries.map((entry) => entry.value)
  return inner.some((node) => holds(node, start, end, value))
}

/** Removes an item that has its own lines, unless it is the last item. */
function removed(
  text: string,
  lines: readonly number[],
  { list, item }: Located,
): Change | undefined {
  if (list === undefined || item === undefined || list.items.length < 2) return undefined
  const start = lines.findLast((line) => line <= item.start) ?? 0
  if (!/^[ \t]*-[ \t]+$/.test(text.slice(start, item.start))) return undefined
  const end = lines.find((line) => line >= item.end && line > start) ?? text.length
  if (!/^[ \t]*(?:#.*)?\r?\n?$/.test(text.slice(item.end, end))) return undefined
  return { start, end, insert: '' }
}

function offsetOf(text: string, lines: readonly number[], { line, column }: Position): number {
  const start = lines[line - 1] ?? text.length
  let offset = start
  for (let left = column - 1; left > 0; left--) {
    offset += (text.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1
  }
  return offset
}
