import type { JsonValue } from '../../model/json.ts'
import { type Document, lineStarts } from '../file/document.ts'
import type { Entry, MappingNode, Node } from '../file/node.ts'
import type { Merged, MergedResource } from './merge.ts'
import { OverlayText } from './overlay-text.ts'
import { RESOURCE_KINDS, type ResourceKind, shapeOf } from './resource-kinds.ts'
import { keyOf, type ResourceKey, resourcesOf } from './resources.ts'

/**
 * The document of a baseline, which must be in one piece, with stored resources in their places:
 * lines after those of the file say of which resource and field they are.
 */
export function overlayDocument(baseline: Document, { resources, hidden }: Merged): Document {
  const ownText = baseline.text.endsWith('\n') ? baseline.text : `${baseline.text}\n`
  const ownLines = lineStarts(ownText).length - 1
  const overlay = new OverlayText(ownText.length)
  const root = mappingOf(baseline.root)
  const nodes = nodesOf(baseline)
  const entries = new Map(root.entries.map((entry) => [entry.key, entry]))
  const value: Record<string, unknown> = { ...(baseline.value as object) }
  for (const kind of RESOURCE_KINDS) {
    const own = resources.filter((one) => one.kind === kind)
    const isTouched = own.some(({ stored }) => stored !== undefined)
    if (!isTouched && !hidden.some((one) => one.kind === kind)) continue
    const placed = own.map((one) => {
      const there = one.stored === undefined ? nodes.get(keyOf(one)) : undefined
      return { one, entry: there ?? overlay.add(one) }
    })
    entries.delete(kind)
    delete value[kind]
    const [first] = placed
    if (first === undefined) continue
    const before = root.entries.find(({ key }) => key === kind)
    const { keyStart, keyEnd } = before ?? first.entry
    entries.set(kind, { key: kind, keyStart, keyEnd, value: sectionNode(kind, placed, before) })
    value[kind] = sectionValue(kind, own)
  }
  const text = ownText + overlay.text
  return {
    ...baseline,
    text,
    lines: lineStarts(text),
    beyond: (line) => (line > ownLines ? overlay.originOf(line - ownLines - 1) : undefined),
    root: { ...root, entries: [...entries.values()] },
    value,
  }
}

interface PlacedNode {
  readonly one: MergedResource
  readonly entry: Entry
}

function sectionNode(
  kind: ResourceKind,
  placed: readonly PlacedNode[],
  before: Entry | undefined,
): Node {
  const { start, end } = before?.value ?? (placed[0] as PlacedNode).entry.value
  const shape = shapeOf(kind)
  if (shape === 'single') return (placed[0] as PlacedNode).entry.value
  if (shape === 'record') {
    return { kind: 'mapping', entries: placed.map(({ entry }) => entry), start, end }
  }
  return { kind: 'list', items: placed.map(({ entry }) => entry.value), start, end }
}

export function sectionValue(
  kind: ResourceKind,
  own: readonly { readonly id: string; readonly value: JsonValue }[],
): unknown {
  const shape = shapeOf(kind)
  if (shape === 'single') return own[0]?.value
  if (shape === 'list') return own.map(({ value }) => value)
  return Object.fromEntries(own.map(({ id, value }) => [id, value]))
}

/** The resources of the baseline in its tree, as entries; items of lists have the key of their list. */
function nodesOf(baseline: Document): ReadonlyMap<ResourceKey, Entry> {
  const found = new Map<ResourceKey, Entry>()
  const all = [...resourcesOf(baseline.value).values()]
  for (const { key: kind, keyStart, keyEnd, value } of mappingOf(baseline.root).entries) {
    const own = all.filter((one) => one.kind === kind)
    for (const [index, one] of own.entries()) {
      const entry =
        value.kind === 'mapping' && shapeOf(one.kind) === 'record'
          ? value.entries.find(({ key }) => key === one.id)
          : { key: one.id, keyStart, keyEnd, value: itemOf(value, index) }
      if (entry !== undefined) found.set(keyOf(one), entry)
    }
  }
  return found
}

function itemOf(value: Node, index: number): Node {
  return value.kind === 'list' ? (value.items[index] as Node) : value
}

function mappingOf(node: Node): MappingNode {
  return node.kind === 'mapping' ? node : { kind: 'mapping', entries: [], start: 0, end: 0 }
}
