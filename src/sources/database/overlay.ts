import type { JsonValue } from '../../model/json.ts'
import type { Document, Piece, PieceList, Place } from '../file/document.ts'
import type { Entry, MappingNode, Node } from '../file/node.ts'
import { PartNames } from '../file/part-names.ts'
import type { Merged, MergedResource } from './merge.ts'
import { OverlayText, storedName } from './overlay-text.ts'
import { RESOURCE_KINDS, type ResourceKind, shapeOf } from './resource-kinds.ts'
import { keyOf, type ResourceKey, resourcesOf } from './resources.ts'

/**
 * The document of a baseline, which must be in one piece, with the stored resources inserted: lines
 * after those of the file map to a resource and a field. Lists may have thousands of items; the
 * text of each item is rendered only when it is needed.
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
  const isHiding = new Set(hidden.map(({ kind }) => kind))
  const entryOf = (one: MergedResource): Entry =>
    (one.stored === undefined ? nodes.get(keyOf(one)) : undefined) ?? overlay.add(one)
  for (const kind of RESOURCE_KINDS) {
    const own = byKind.get(kind) ?? []
    const isTouched = own.some(({ stored }) => stored !== undefined)
    if (!isTouched && !isHiding.has(kind)) continue
    entries.delete(kind)
    delete value[kind]
    const [first] = own
    if (first === undefined) continue
    const before = root.entries.find(({ key }) => key === kind)
    const { keyStart, keyEnd, value: node } = before ?? entryOf(first)
    if (shapeOf(kind) === 'list') {
      const { start, end } = node
      const list = { kind: 'list', items: [], start, end } as const
      entries.set(kind, { key: kind, keyStart, keyEnd, value: list })
      lists.set(kind, listOf(own, nodes, baseline))
      value[kind] = []
    } else {
      entries.set(kind, {
        key: kind,
        keyStart,
        keyEnd,
        value: nodeOf(kind, own.map(entryOf), node),
      })
      value[kind] = sectionValue(kind, own)
    }
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
    parts: new PartNames(),
  }
}

/** A list of items, each with the resource that it is read from. */
export interface ResourceList extends PieceList {
  resourceAt(index: number): MergedResource | undefined
}

export function isResourceList(list: PieceList | undefined): list is ResourceList {
  return list !== undefined && 'resourceAt' in list
}

function listOf(
  own: readonly MergedResource[],
  nodes: ReadonlyMap<ResourceKey, Entry>,
  baseline: Document,
): ResourceList {
  const at = (index: number): Piece => {
    const one = own[index] as MergedResource
    const there = one.stored === undefined ? nodes.get(keyOf(one)) : undefined
    if (there === undefined) return new StoredPiece(one)
    const { expanded } = baseline
    return { root: there.value, value: one.value, expanded, place: baseline }
  }
  return {
    length: own.length,
    at,
    spanOf: (index) => at(index).root,
    resourceAt: (index) => own[index],
  }
}

/** A stored item; its contents do not depend on its index. */
class StoredPiece implements Piece {
  readonly value: JsonValue
  readonly object: string
  readonly expanded = NO_EXPANSIONS
  readonly place: StoredText

  constructor(resource: MergedResource) {
    this.value = resource.value
    this.object = storedName(resource)
    this.place = new StoredText(resource, this.object)
  }

  get root(): Node {
    return this.place.entry.value
  }
}

const NO_EXPANSIONS: Piece['expanded'] = new Map()

class StoredText implements Place {
  readonly file: string
  readonly #resource: MergedResource
  #made: { readonly overlay: OverlayText; readonly entry: Entry } | undefined

  constructor(resource: MergedResource, object: string) {
    this.#resource = resource
    this.file = object
  }

  get entry(): Entry {
    return this.#make().entry
  }

  get text(): string {
    return this.#make().overlay.text
  }

  get lines(): readonly number[] {
    return this.#make().overlay.lines
  }

  beyond(line: number) {
    return this.#make().overlay.originOf(line - 1)
  }

  #make() {
    if (this.#made !== undefined) return this.#made
    const overlay = new OverlayText('')
    this.#made = { overlay, entry: overlay.add(this.#resource) }
    return this.#made
  }
}

/** The node of a section that is not a list. */
function nodeOf(kind: ResourceKind, own: readonly Entry[], { start, end }: Node): Node {
  if (shapeOf(kind) === 'single') return (own[0] as Entry).value
  return { kind: 'mapping', entries: own, start, end }
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

const nodesByBaseline = new WeakMap<Document, ReadonlyMap<ResourceKey, Entry>>()

/** The resources of the baseline as entries of its tree; list items have the key of the list. */
function nodesOf(baseline: Document): ReadonlyMap<ResourceKey, Entry> {
  const known = nodesByBaseline.get(baseline)
  if (known !== undefined) return known
  const found = new Map<ResourceKey, Entry>()
  const byKind = Map.groupBy(resourcesOf(baseline.value).values(), ({ kind }) => kind as string)
  for (const { key: kind, keyStart, keyEnd, value } of mappingOf(baseline.root).entries) {
    for (const [index, one] of (byKind.get(kind) ?? []).entries()) {
      const entry =
        value.kind === 'mapping' && shapeOf(one.kind) === 'record'
          ? value.entries.find(({ key }) => key === one.id)
          : { key: one.id, keyStart, keyEnd, value: itemOf(value, index) }
      if (entry !== undefined) found.set(keyOf(one), entry)
    }
  }
  nodesByBaseline.set(baseline, found)
  return found
}

function itemOf(value: Node, index: number): Node {
  return value.kind === 'list' ? (value.items[index] as Node) : value
}

function mappingOf(node: Node): MappingNode {
  return node.kind === 'mapping' ? node : { kind: 'mapping', entries: [], start: 0, end: 0 }
}
