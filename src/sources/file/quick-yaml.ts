import type { Entry, Node } from './node.ts'
import {
  type Cursor,
  endsLine,
  type Key,
  readFlow,
  readInline,
  readKey,
  skipSpaces,
  startsKey,
} from './quick-scalars.ts'
import type { RepeatedBlocks } from './repeated-blocks.ts'

/**
 * Reads the subset of YAML that configurations use, about ten times as fast as a full reader: block
 * mappings and lists, flow collections, scalars on one line and block scalars. Anything else
 * (anchors, tags, multi-line scalars, tabs) and any error yields undefined and is left to
 * ./yaml-tree.ts. For the supported subset, both build the same tree: test/fuzz/quick-yaml.test.ts.
 */
export function readQuickly(text: string): Node | undefined {
  return readRoot(text)
}

/** A text without the items of its top-level lists, which are read separately. */
export interface Outline {
  /** The lists are empty in this tree. */
  readonly root: Node
  readonly lists: ReadonlyMap<string, ItemPlaces>
}

export interface ItemPlaces {
  readonly indent: number
  /** Offsets of the dashes. */
  readonly starts: readonly number[]
  /** The end of the last item. */
  readonly end: number
}

/**
 * The first pass over a long file: items are read on demand and then discarded, so that the tree of
 * the whole file never exists.
 */
export function readOutline(text: string): Outline | undefined {
  const lists = new Map<string, ItemPlaces>()
  const root = readRoot(text, lists)
  return root && { root, lists }
}

/**
 * Returns the same node as the whole tree, with shared nodes for repeated blocks; undefined if
 * readQuickly would not read the text.
 */
export function readListItem(
  text: string,
  places: ItemPlaces,
  index: number,
  blocks?: RepeatedBlocks,
): Node | undefined {
  const { indent, starts, end } = places
  const at = starts[index] as number
  const cursor = cursorAt(text, at)
  cursor.content = at
  cursor.indent = indent
  cursor.depth = ITEM_DEPTH - 1
  cursor.blocks = blocks
  const item = readDashed(cursor, indent)
  if (item === undefined || !toContent(cursor)) return undefined
  return cursor.at === (starts[index + 1] ?? end) ? item : undefined
}

function readRoot(text: string, lists?: Map<string, ItemPlaces>): Node | undefined {
  if (STRANGE.test(text)) return undefined
  const cursor = cursorAt(text, 0)
  if (!toContent(cursor) || cursor.at >= text.length) return undefined
  const first = text.charCodeAt(cursor.at)
  const isFlow = first === BRACE || first === BRACKET
  const root = isFlow ? readFlow(cursor, -1) : readBlock(cursor, -1, lists)
  if (root === undefined || (isFlow && !endsLine(cursor))) return undefined
  return toContent(cursor) && cursor.at >= text.length ? root : undefined
}

function cursorAt(text: string, at: number): Cursor {
  return {
    text,
    at,
    content: -1,
    indent: 0,
    depth: 0,
    flowIndent: -1,
    start: -1,
    end: -1,
    stop: 0,
    blocks: undefined,
  }
}

/** Tabs, other line breaks and non-text characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
const STRANGE = /[\0-\x09\x0b-\x1f\x7f\x85\u2028\u2029\ufeff]/

const LINE_END = 10
const SPACE = 32
const HASH = 35
const DASH = 45
const BRACKET = 91
const BRACE = 123
const MAX_DEPTH = 100

/** Reads a list or mapping indented further than `parent`; the cursor is on its first line. */
function readBlock(
  cursor: Cursor,
  parent: number,
  lists?: Map<string, ItemPlaces>,
): Node | undefined {
  const { indent } = cursor
  if (indent <= parent || ++cursor.depth > MAX_DEPTH) return undefined
  const node = isDash(cursor) ? readList(cursor, indent) : readMapping(cursor, indent, lists)
  cursor.depth--
  return node
}

function readMapping(
  cursor: Cursor,
  indent: number,
  lists?: Map<string, ItemPlaces>,
): Node | undefined {
  const start = cursor.at
  const entries: Entry[] = []
  let seen: Set<string> | undefined
  let end = start
  do {
    const read = readKey(cursor)
    if (read === undefined) return undefined
    const { key } = read
    if (entries.length === FEW_KEYS) seen = new Set(entries.map((entry) => entry.key))
    if (key === '__proto__' || hasKey(entries, seen, key)) return undefined
    seen?.add(key)
    const entry = readEntry(cursor, indent, read, lists)
    if (entry === undefined) return undefined
    entries.push(entry)
    end = entry.value.end + (entry.shift ?? 0)
    if (!toContent(cursor)) return undefined
  } while (cursor.indent === indent && cursor.at < cursor.text.length && !isDash(cursor))
  if (cursor.indent > indent || (cursor.indent === indent && isDash(cursor))) return undefined
  return { kind: 'mapping', entries, start, end }
}

/** The depth of mappings that are items of a top-level list. */
const ITEM_DEPTH = 3

/** Reads the value after its key. */
function readEntry(
  cursor: Cursor,
  indent: number,
  { key, keyStart, keyEnd }: Key,
  lists: Map<string, ItemPlaces> | undefined,
): Entry | undefined {
  const places = lists && skipList(cursor, indent)
  if (places !== undefined) {
    lists?.set(key, places)
    return { key, keyStart, keyEnd, value: listNode(places) }
  }
  const start = cursor.at
  const blocks = cursor.depth === ITEM_DEPTH ? cursor.blocks?.below(key) : undefined
  const text = blocks && blockBelow(cursor, indent)
  const block = text === undefined ? undefined : blocks?.find(text)
  if (block !== undefined) {
    cursor.at = start + (text as string).length
    return { key, keyStart, keyEnd, value: block.node, block, shift: start - block.start }
  }
  const value = readValue(cursor, indent, true)
  if (value === undefined || !toContent(cursor)) return undefined
  const isAll = text !== undefined && start + text.length === cursor.at - Math.max(cursor.indent, 0)
  const added = isAll ? blocks?.add(text, value, start) : undefined
  const entry = { key, keyStart, keyEnd, value }
  return added === undefined ? entry : { ...entry, block: added }
}

/**
 * Returns the text below a key, up to the first line that is not below it; undefined if there may
 * be no such block. A block with variables is never shared, because they are expanded each time.
 */
function blockBelow(cursor: Cursor, indent: number): string | undefined {
  const { text, at } = cursor
  skipSpaces(cursor)
  const isBelow = isLineEnd(cursor)
  cursor.at = at
  const end = isBelow ? blockEnd(text, at, indent) : -1
  const block = end === -1 ? '$' : text.slice(at, end)
  return block.includes('$') ? undefined : block
}

/** The start of the first line that is not below the key; -1 if it may be a dash of its list. */
function blockEnd(text: string, from: number, indent: number): number {
  const next = nextLine(indent)
  next.lastIndex = from
  if (!next.test(text)) return text.length
  const line = text.lastIndexOf('\n', next.lastIndex) + 1
  const mayBeItem = text.charCodeAt(next.lastIndex) === DASH
  return mayBeItem && next.lastIndex - line === indent ? -1 : line
}

/** Matches the next non-blank line that is indented no further. */
function nextLine(indent: number): RegExp {
  const known = NEXT_LINES.get(indent)
  if (known !== undefined) return known
  const made = new RegExp(`\\n {0,${Math.max(indent, 0)}}(?=[^ #\\n])`, 'g')
  NEXT_LINES.set(indent, made)
  return made
}

const NEXT_LINES = new Map<number, RegExp>()

/** Most mappings have few keys; those are searched linearly. */
const FEW_KEYS = 8

function hasKey(entries: readonly Entry[], seen: Set<string> | undefined, key: string): boolean {
  if (seen !== undefined) return seen.has(key)
  for (let i = 0; i < entries.length; i++) if ((entries[i] as Entry).key === key) return true
  return false
}

function readList(cursor: Cursor, indent: number): Node | undefined {
  const start = cursor.at
  const items: Node[] = []
  let end = start
  do {
    const item = readDashed(cursor, indent)
    if (item === undefined) return undefined
    items.push(item)
    end = item.end
    if (!toContent(cursor)) return undefined
  } while (cursor.indent === indent && cursor.at < cursor.text.length && isDash(cursor))
  if (cursor.indent > indent) return undefined
  return { kind: 'list', items, start, end }
}

function listNode({ starts: [start = 0], end }: ItemPlaces): Node {
  return { kind: 'list', items: [], start, end }
}

/**
 * Skips a list after its key and returns the positions of its items; undefined, without moving the
 * cursor, if there is no list.
 */
function skipList(cursor: Cursor, parent: number): ItemPlaces | undefined {
  const { at, text } = cursor
  skipSpaces(cursor)
  const isBelow = isLineEnd(cursor) && toContent(cursor) && cursor.at < text.length
  const { indent } = cursor
  const starts: number[] = []
  let isReadable = isBelow && indent >= parent && isDash(cursor)
  // A line that is indented further belongs to the item above it.
  const next = nextLine(indent)
  while (isReadable && cursor.indent === indent && isDash(cursor)) {
    starts.push(cursor.at)
    next.lastIndex = cursor.at
    const line = next.exec(text)
    cursor.at = line === null ? text.length : line.index + 1
    isReadable = toContent(cursor)
  }
  if (isReadable) return { indent, starts, end: cursor.at }
  cursor.at = at
  return undefined
}

function readDashed(cursor: Cursor, indent: number): Node | undefined {
  cursor.at++
  skipSpaces(cursor)
  return isLineEnd(cursor) ? readValue(cursor, indent, false) : readItem(cursor, indent)
}

/** Reads what follows a dash on its line: a value, or the first line of a list or mapping. */
function readItem(cursor: Cursor, indent: number): Node | undefined {
  const column = cursor.at - lineStart(cursor)
  const isNested = isDash(cursor) || startsKey(cursor)
  if (!isNested) return readInline(cursor, indent)
  cursor.indent = column
  return readBlock(cursor, indent)
}

/** Reads the value after a colon or dash: on the same line, on the following lines, or empty. */
function readValue(cursor: Cursor, indent: number, isMapping: boolean): Node | undefined {
  skipSpaces(cursor)
  if (!isLineEnd(cursor)) return readInline(cursor, indent)
  const nothing = cursor.at
  if (!toContent(cursor)) return undefined
  const isBelow = cursor.at < cursor.text.length
  // `key:` and the dashes of its list may be in the same column.
  const isList = isMapping && cursor.indent === indent && isDash(cursor)
  if (isBelow && isList) return readBlock(cursor, indent - 1)
  if (isBelow && cursor.indent > indent) {
    const first = cursor.text.charCodeAt(cursor.at)
    if (first === BRACE || first === BRACKET) return undefined
    return isDash(cursor) || startsKey(cursor) ? readBlock(cursor, indent) : undefined
  }
  return { kind: 'scalar', value: null, style: 'plain', start: nothing, end: nothing }
}

/** Moves to the next non-blank line; false at a document marker or a directive. */
function toContent(cursor: Cursor): boolean {
  const { text } = cursor
  let at = cursor.at
  if (at === cursor.content) return true
  if (at > 0 && text.charCodeAt(at - 1) !== LINE_END) {
    const next = text.indexOf('\n', at)
    at = next === -1 ? text.length : next + 1
  }
  for (;;) {
    const start = at
    while (text.charCodeAt(at) === SPACE) at++
    const code = text.charCodeAt(at)
    if (at >= text.length) {
      cursor.at = text.length
      cursor.content = text.length
      cursor.indent = -1
      return true
    }
    if (code === HASH) {
      const next = text.indexOf('\n', at)
      at = next === -1 ? text.length : next + 1
    } else if (code === LINE_END) at++
    else {
      cursor.at = at
      cursor.content = at
      cursor.indent = at - start
      // `---`, `...` and directives separate documents.
      return cursor.indent > 0 || !/^(?:---|\.\.\.|%)/.test(text.slice(at, at + 3))
    }
  }
}

function isLineEnd({ text, at }: Cursor): boolean {
  const code = text.charCodeAt(at)
  return at >= text.length || code === LINE_END || code === HASH
}

function isDash({ text, at }: Cursor): boolean {
  if (text.charCodeAt(at) !== DASH) return false
  const next = text.charCodeAt(at + 1)
  return Number.isNaN(next) || next === SPACE || next === LINE_END
}

function lineStart({ text, at }: Cursor): number {
  return text.lastIndexOf('\n', at - 1) + 1
}
