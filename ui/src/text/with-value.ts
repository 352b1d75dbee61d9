import {
  type Document,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  Scalar,
  stringify,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml'

/** The form in which values become text. */
const STYLE = { lineWidth: 0 } as const

export function textOf(value: unknown): string {
  return stringify(value, STYLE)
}

/** The value of a text; the text has one, or errors. */
export function readText(
  text: string,
): { readonly value: unknown } | { readonly errors: Document.Parsed['errors'] } {
  const document = parseDocument(text, { uniqueKeys: true, prettyErrors: false })
  return document.errors.length > 0 ? { errors: document.errors } : { value: document.toJS() }
}

/**
 * The text with another value: only what differs changes, so that comments, the order of keys and
 * the form of everything else stay.
 */
export function withValue(text: string, value: unknown): string {
  const document = parseDocument(text, { uniqueKeys: true })
  if (document.errors.length > 0) return textOf(value)
  if (isSame(document.toJS(), value)) return text
  const next = merged(document, document.contents, value)
  document.contents = next as typeof document.contents
  const changed = document.toString(STYLE)
  const read = readText(changed)
  // Anchors and tags can make one place depend on another.
  return 'value' in read && isSame(read.value, value) ? changed : textOf(value)
}

export function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b) || isEqual(a, b)
}

/** Regardless of the order of keys. */
function isEqual(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) {
    return Object.is(a, b)
  }
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const [first, second] = [Object.entries(a), Object.entries(b)]
  return (
    first.length === second.length &&
    first.every(([key, one]) => Object.hasOwn(b, key) && isEqual(one, (b as never)[key]))
  )
}

function merged(document: Document, node: Node | null, value: unknown): Node {
  if (isMap(node) && isFields(value)) return mergedMap(document, node, value)
  if (isSeq(node) && Array.isArray(value)) return mergedList(document, node, value)
  if (node !== null && isSame(node.toJS(document), value)) return node
  const made = document.createNode(value) as Node
  if (node === null) return made
  made.commentBefore = node.commentBefore ?? null
  made.comment = isCollection(made) ? null : (node.comment ?? null)
  made.spaceBefore = node.spaceBefore ?? false
  if (isScalar(node) && isScalar(made) && typeof made.value === 'string' && isQuoted(node)) {
    made.type = node.type as Scalar.Type
  }
  return made
}

function isQuoted({ type, value }: Scalar): boolean {
  // An empty text has to be quoted; others need not be.
  return typeof value === 'string' && value !== '' && type !== undefined && type !== Scalar.PLAIN
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function mergedMap(
  document: Document,
  map: YAMLMap,
  value: Readonly<Record<string, unknown>>,
): Node {
  const keyOf = ({ key }: Pair) => String(isScalar(key) ? key.value : key)
  if (map.items.length === 0) map.flow = false
  map.items = map.items.filter((pair) => Object.hasOwn(value, keyOf(pair)))
  const known = new Map(map.items.map((pair) => [keyOf(pair), pair]))
  for (const [key, member] of Object.entries(value)) {
    const pair = known.get(key)
    if (pair === undefined) map.items.push(document.createPair(key, member) as Pair)
    else pair.value = merged(document, pair.value as Node | null, member)
  }
  return map
}

/** Equal items are the same ones, wherever they moved; others are changed in place. */
function mergedList(document: Document, list: YAMLSeq, value: readonly unknown[]): Node {
  if (list.items.length === 0) list.flow = false
  const nodes = list.items as (Node | null)[]
  const texts = nodes.map((node) => JSON.stringify(node?.toJS(document) ?? null))
  const free = new Map<string, number[]>()
  for (const [index, text] of texts.entries()) free.set(text, [...(free.get(text) ?? []), index])
  const kept = value.map((item) => free.get(JSON.stringify(item))?.shift())
  const used = new Set(kept)
  const changed = nodes.flatMap((_, index) => (used.has(index) ? [] : [index]))
  giveCommentToFirst(list, nodes, kept[0] !== 0)
  // With as many items as before, a changed one stays where it was; otherwise the first that is left.
  list.items = value.map((item, at) => {
    const same = kept[at]
    if (same !== undefined) return nodes[same]
    const isHere = changed.includes(at)
    const index = isHere ? at : nodes.length === value.length ? changed[0] : undefined
    if (index === undefined) return document.createNode(item)
    changed.splice(changed.indexOf(index), 1)
    return merged(document, nodes[index] ?? null, item)
  })
  return list
}

/** The parser keeps what is before the first item with the list: it moves with the item. */
function giveCommentToFirst(list: YAMLSeq, nodes: readonly (Node | null)[], moves: boolean): void {
  const [first] = nodes
  if (!moves || first == null || list.commentBefore == null) return
  first.commentBefore = list.commentBefore
  list.commentBefore = null
}
