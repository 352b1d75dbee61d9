import type { JsonValue } from '../../model/json.ts'
import type { Document, Piece, PieceList } from '../file/document.ts'
import type { Entry, MappingNode, Node } from '../file/node.ts'
import type { Merged, MergedResource } from './merge.ts'
import { OverlayText, storedName } from './overlay-text.ts'
import { RESOURCE_KINDS, type ResourceKind, shapeOf } from './resource-kinds.ts'
import { keyOf, type ResourceKey, resourcesOf } from './resources.ts'

/**
 * The document of a baseline, which must be in one piece, with stored resources in their places:
 * lines after those of the file say of which resource and field they are. There may be thousands
 * of them, so that the items of lists become text when somebody has to show it.
 */
export function overlayDocument(baseline: Document, { resources, hidden }: Merged): Document {
  const ownText = baseline.text.endsWith('\n') ? baseline.text : `${baseline.text}\n`
  const overlay = new OverlayText(ownText)
  const ownLines = overlay.lines.length - 1
  const root = mappingOf(baseline.root)
  const nodes = nodesOf(baseline)
  const entries = new Map(root.entries.map((entry) => [entry.key, entry]))
  const value: Record<string, unknown> = { ...(baseline.value as object) }
  const lists = new Map(baseline.lists)
  const byKind = Map.groupBy(resources, ({ kind }) => kind)
  for (const kind of RESOURCE_KINDS) {
    const own = byKind.get(kind) ?? []
    const isTouched = own.some(({ stored }) => stored !== undefined)
    if (!isTouched && !hidden.some((one) => one.kind === kind)) continue
    entries.delete(kind)
    delete value[kind]
    const placed = own.map((one) => placeOf(one, nodes, overlay, baseline))
    const [first] = placed
    if (first === undefined) continue
    const before = root.entries.find(({ key }) => key === kind)
    const { keyStart, keyEnd } = before ?? first.entry
    entries.set(kind, { key: kind, keyStart, keyEnd, value: sectionNode(kind, placed, before) })
    value[kind] = sectionValue(kind, own)
    if (shapeOf(kind) !== 'list') continue
    lists.set(kind, listOf(placed))
    value[kind] = []
  }
  return {
    ...baseline,
    get text() {
      return overlay.text
    },
    lines: overlay.lines,
    beyond: (line) => (line > ownLines ? overlay.originOf(line - ownLines - 1) : undefined),
    root: { ...root, entries: [...entries.values()] },
    value,
    lists,
  }
}

function placeOf(
  one: MergedResource,
  nodes: ReadonlyMap<ResourceKey, Entry>,
  overlay: OverlayText,
  { expanded }: Document,
): PlacedResource {
  const there = one.stored === undefined ? nodes.get(keyOf(one)) : undefined
  if (there === undefined) return new StoredPiece(one, overlay)
  return { entry: there, root: there.value, value: one.value, expanded }
}

/** A resource, with the entry that it would be in a section with keys. */
interface PlacedResource extends Piece {
  readonly entry: Entry
}

class StoredPiece implements PlacedResource {
  readonly value: JsonValue
  readonly expanded = NO_EXPANSIONS
  readonly #resource: MergedResource
  readonly #overlay: OverlayText
  #object: string | undefined
  #entry: Entry | undefined

  constructor(resource: MergedResource, overlay: OverlayText) {
    this.value = resource.value
    this.#resource = resource
    this.#overlay = overlay
  }

  get object(): string {
    this.#object ??= storedName(this.#resource)
    return this.#object
  }

  get entry(): Entry {
    this.#entry ??= this.#overlay.add(this.#resource)
    return this.#entry
  }

  get root(): Node {
    return this.entry.value
  }
}

const NO_EXPANSIONS: Piece['expanded'] = new Map()

function listOf(pieces: readonly Piece[]): PieceList {
  return {
    length: pieces.length,
    at: (index) => pieces[index] as Piece,
    spanOf: (index) => (pieces[index] as Piece).root,
  }
}

function sectionNode(
  kind: ResourceKind,
  placed: readonly PlacedResource[],
  before: Entry | undefined,
): Node {
  const shape = shapeOf(kind)
  if (shape === 'single') return (placed[0] as PlacedResource).root
  const { start, end } = before?.value ?? (placed[0] as PlacedResource).root
  if (shape === 'list') return { kind: 'list', items: [], start, end }
  return { kind: 'mapping', entries: placed.map(({ entry }) => entry), start, end }
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
