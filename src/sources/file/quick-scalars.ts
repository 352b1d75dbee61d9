import { type Entry, type Node, resolvePlain, type ScalarNode } from './node.ts'
import type { RepeatedBlocks } from './repeated-blocks.ts'
import { blockValue } from './scalar-offsets.ts'

/** The position of ./quick-yaml.ts in its text. */
export interface Cursor {
  readonly text: string
  at: number
  /** The start of the content of the last scanned line, after its indentation. */
  content: number
  /** The indentation of the current line. */
  indent: number
  depth: number
  /** Lines of a flow collection must be indented further than this. */
  flowIndent: number
  /** The last scanned plain scalar: its start, its end, and the offset where the scan stopped. */
  start: number
  end: number
  stop: number
  /** The repeated blocks of list items. */
  blocks: RepeatedBlocks | undefined
}

export interface Key {
  readonly key: string
  readonly keyStart: number
  readonly keyEnd: number
}

const LINE_END = 10
const SPACE = 32
const DOUBLE = 34
const HASH = 35
const SINGLE = 39
const COMMA = 44
const COLON = 58
const BRACKET = 91
const CLOSED_BRACKET = 93
const BRACE = 123
const CLOSED_BRACE = 125
const MAX_DEPTH = 100
const MAX_KEY = 1000

/** Characters that cannot begin a plain scalar; `-`, `?` and `:` can if something follows them. */
const INDICATORS = new Set([...',[]{}#&*!|>\'"%@`'].map((char) => char.charCodeAt(0)))
const HALF_INDICATORS = new Set([...'-?:'].map((char) => char.charCodeAt(0)))

/** Reads `key:` on one line; moves the cursor past the colon. */
export function readKey(cursor: Cursor): Key | undefined {
  const { text, at: keyStart } = cursor
  const quoted = readQuoted(cursor)
  if (quoted !== undefined) {
    const keyEnd = cursor.at
    skipSpaces(cursor)
    const isKey = text.charCodeAt(cursor.at) === COLON && isBreak(text.charCodeAt(cursor.at + 1))
    if (!isKey || keyEnd - keyStart > MAX_KEY) return undefined
    cursor.at++
    return { key: quoted.value as string, keyStart, keyEnd }
  }
  const keyEnd = plainEnd(cursor, false)
  if (keyEnd === -1 || text.charCodeAt(cursor.stop) !== COLON) return undefined
  const key = text.slice(keyStart, keyEnd)
  if (key.length > MAX_KEY || key === '<<' || resolvePlain(key) === null) return undefined
  cursor.at = cursor.stop + 1
  return { key, keyStart, keyEnd }
}

/** Whether readKey would succeed here; does not move the cursor. */
export function startsKey(cursor: Cursor): boolean {
  const { text, at } = cursor
  const first = text.charCodeAt(at)
  if (first !== SINGLE && first !== DOUBLE) {
    return plainEnd(cursor, false) !== -1 && text.charCodeAt(cursor.stop) === COLON
  }
  const isKey = readKey(cursor) !== undefined
  cursor.at = at
  return isKey
}

/** Reads a value that begins on this line; the next lines must not be indented beyond `indent`. */
export function readInline(cursor: Cursor, indent: number): Node | undefined {
  const { text, at } = cursor
  const code = text.charCodeAt(at)
  if (code === BRACE || code === BRACKET) {
    const node = readFlow(cursor, indent)
    return node !== undefined && endsLine(cursor) ? node : undefined
  }
  if (text.charAt(at) === '|' || text.charAt(at) === '>') return readBlockScalar(cursor, indent)
  const quoted = readQuoted(cursor)
  if (quoted !== undefined)
    return endsLine(cursor) && !continues(cursor, indent) ? quoted : undefined
  const end = plainEnd(cursor, false)
  if (end === -1 || text.charCodeAt(cursor.stop) === COLON) return undefined
  cursor.at = cursor.stop
  return continues(cursor, indent) ? undefined : plainNode(text, at, end)
}

function plainNode(text: string, start: number, end: number): ScalarNode {
  return { kind: 'scalar', value: resolvePlain(text.slice(start, end)), style: 'plain', start, end }
}

/**
 * Returns the end of a plain scalar, or -1; `cursor.stop` is the terminator: a colon, a comment,
 * the end of the line or, in a flow collection, `,]}`.
 */
function plainEnd(cursor: Cursor, isFlow: boolean): number {
  const { text, at: start } = cursor
  // startsKey has already scanned this key.
  if (cursor.start === start && !isFlow) return cursor.end
  const first = text.charCodeAt(start)
  if (INDICATORS.has(first)) return -1
  const second = text.charCodeAt(start + 1)
  if (HALF_INDICATORS.has(first) && (isBreak(second) || isFlow)) return -1
  let end = start
  for (let at = start; ; at++) {
    const code = text.charCodeAt(at)
    // Most characters are letters, which never end a scalar.
    if (code > COLON && !isFlow) end = at + 1
    else if (code !== SPACE) {
      const isEnd = at >= text.length || code === LINE_END || (isFlow && isFlowMark(code))
      const isComment = code === HASH && text.charCodeAt(at - 1) === SPACE
      if (isEnd || isComment || (code === COLON && endsKey(text, at, isFlow))) {
        cursor.start = isFlow ? -1 : start
        cursor.end = end
        cursor.stop = at
        return end
      }
      end = at + 1
    }
  }
}

/** Whether the colon at this offset ends a key. */
function endsKey(text: string, at: number, isFlow: boolean): boolean {
  const next = text.charCodeAt(at + 1)
  return isBreak(next) || (isFlow && isFlowMark(next))
}

/** Reads a quoted string on one line; otherwise returns undefined without moving the cursor. */
function readQuoted(cursor: Cursor): ScalarNode | undefined {
  const { text, at: start } = cursor
  const code = text.charCodeAt(start)
  if (code !== SINGLE && code !== DOUBLE) return undefined
  const pattern = code === SINGLE ? SINGLE_QUOTED : DOUBLE_QUOTED
  pattern.lastIndex = start
  const found = pattern.exec(text)
  if (found === null) return undefined
  const body = found[1] as string
  const value = code === SINGLE ? body.replaceAll("''", "'") : unescaped(body)
  if (value === undefined) return undefined
  cursor.at = pattern.lastIndex
  const style = code === SINGLE ? 'single' : 'double'
  return { kind: 'scalar', value, style, start, end: cursor.at }
}

const SINGLE_QUOTED = /'((?:[^'\n]|'')*)'(?!')/y
const DOUBLE_QUOTED = /"((?:[^"\\\n]|\\[^\n])*)"/y

/** Decodes the escapes that YAML and JSON share; others are left to the slower reader. */
function unescaped(body: string): string | undefined {
  if (!body.includes('\\')) return body
  if (/\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})/.test(body.replaceAll('\\\\', ''))) return undefined
  try {
    return JSON.parse(`"${body}"`)
  } catch {
    return undefined
  }
}

/** Reads `{…}` or `[…]`, across any number of lines. */
export function readFlow(cursor: Cursor, indent: number): Node | undefined {
  if (++cursor.depth > MAX_DEPTH) return undefined
  const outer = cursor.flowIndent
  cursor.flowIndent = Math.max(outer, indent)
  const isMapping = cursor.text.charCodeAt(cursor.at) === BRACE
  const node = isMapping ? readFlowMapping(cursor) : readFlowList(cursor)
  cursor.depth--
  cursor.flowIndent = outer
  return node
}

function readFlowList(cursor: Cursor): Node | undefined {
  const start = cursor.at++
  const items: Node[] = []
  for (;;) {
    if (!toToken(cursor)) return undefined
    if (cursor.text.charCodeAt(cursor.at) === CLOSED_BRACKET) break
    const item = readFlowValue(cursor)
    if (item === undefined || !toToken(cursor)) return undefined
    items.push(item)
    const code = cursor.text.charCodeAt(cursor.at)
    if (code === COMMA) cursor.at++
    else if (code !== CLOSED_BRACKET) return undefined
  }
  return { kind: 'list', items, start, end: ++cursor.at }
}

function readFlowMapping(cursor: Cursor): Node | undefined {
  const start = cursor.at++
  const entries: Entry[] = []
  const seen = new Set<string>()
  for (;;) {
    if (!toToken(cursor)) return undefined
    if (cursor.text.charCodeAt(cursor.at) === CLOSED_BRACE) break
    const key = readFlowKey(cursor)
    if (key === undefined || seen.has(key.key) || key.key === '__proto__') return undefined
    seen.add(key.key)
    if (!toToken(cursor)) return undefined
    const value = readFlowValue(cursor)
    if (value === undefined || !toToken(cursor)) return undefined
    entries.push({ ...key, value })
    const code = cursor.text.charCodeAt(cursor.at)
    if (code === COMMA) cursor.at++
    else if (code !== CLOSED_BRACE) return undefined
  }
  return { kind: 'mapping', entries, start, end: ++cursor.at }
}

function readFlowKey(cursor: Cursor): Key | undefined {
  const { text, at: keyStart } = cursor
  const quoted = readQuoted(cursor)
  if (quoted === undefined) {
    const keyEnd = plainEnd(cursor, true)
    if (keyEnd === -1 || text.charCodeAt(cursor.stop) !== COLON) return undefined
    const key = text.slice(keyStart, keyEnd)
    if (key === '' || key === '<<' || resolvePlain(key) === null) return undefined
    if (key.length > MAX_KEY || !isBreak(text.charCodeAt(cursor.stop + 1))) return undefined
    cursor.at = cursor.stop + 1
    return { key, keyStart, keyEnd }
  }
  const keyEnd = cursor.at
  // JSON does not require a space after the colon.
  skipSpaces(cursor)
  if (text.charCodeAt(cursor.at) !== COLON || keyEnd - keyStart > MAX_KEY) return undefined
  cursor.at++
  return { key: quoted.value as string, keyStart, keyEnd }
}

function readFlowValue(cursor: Cursor): Node | undefined {
  const { text, at } = cursor
  const code = text.charCodeAt(at)
  if (code === BRACE || code === BRACKET) return readFlow(cursor, cursor.flowIndent)
  const quoted = readQuoted(cursor)
  if (quoted !== undefined) return isFlowEnd(cursor) ? quoted : undefined
  const end = plainEnd(cursor, true)
  if (end === -1 || end === at || text.charCodeAt(cursor.stop) === COLON) return undefined
  cursor.at = cursor.stop
  return isFlowEnd(cursor) ? plainNode(text, at, end) : undefined
}

/** A scalar followed by anything else may continue or be a key. */
function isFlowEnd(cursor: Cursor): boolean {
  const { at } = cursor
  const found = toToken(cursor)
  const code = cursor.text.charCodeAt(cursor.at)
  cursor.at = at
  return found && (code === COMMA || code === CLOSED_BRACKET || code === CLOSED_BRACE)
}

/** Skips spaces, line ends and comments; false if a line is not indented far enough. */
function toToken(cursor: Cursor): boolean {
  const { text } = cursor
  for (;;) {
    const before = cursor.at
    skipSpaces(cursor)
    const code = text.charCodeAt(cursor.at)
    if (cursor.at >= text.length) return false
    if (code === HASH) {
      if (before === cursor.at && text.charCodeAt(before - 1) !== LINE_END) return false
      const next = text.indexOf('\n', cursor.at)
      if (next === -1) return false
      cursor.at = next
    } else if (code === LINE_END) {
      const start = ++cursor.at
      skipSpaces(cursor)
      const first = text.charCodeAt(cursor.at)
      if (first === LINE_END || first === HASH) continue
      if (cursor.at - start <= cursor.flowIndent) return false
      if (cursor.at === start && /^(?:---|\.\.\.)/.test(text.slice(start, start + 3))) return false
    } else return true
  }
}

function readBlockScalar(cursor: Cursor, indent: number): Node | undefined {
  const { text, at: start } = cursor
  const header = /[|>]-?(?: +#[^\n]*| *)\n/y
  header.lastIndex = start
  if (!header.test(text)) return undefined
  const from = header.lastIndex
  let content = -1
  let at = from
  let end = from
  while (at < text.length) {
    const next = text.indexOf('\n', at)
    const stop = next === -1 ? text.length : next
    let first = at
    while (first < stop && text.charCodeAt(first) === SPACE) first++
    const isBlank = first === stop
    if (!isBlank) {
      if (content === -1) {
        content = first - at
        if (content <= indent) return undefined
      } else if (first - at <= indent) break
      if (first - at < content) return undefined
    } else if (content === -1 && first > at) return undefined
    at = stop + 1
    end = Math.min(at, text.length)
  }
  if (content === -1) return undefined
  const style = text.charAt(start) === '|' ? 'literal' : 'folded'
  const value = blockValue(text, { start, end, style })
  cursor.at = end
  return { kind: 'scalar', value, style, start, end }
}

/** Whether only spaces and a comment remain on the line. */
export function endsLine(cursor: Cursor): boolean {
  const { at, text } = cursor
  skipSpaces(cursor)
  const code = text.charCodeAt(cursor.at)
  if (cursor.at >= text.length || code === LINE_END) return true
  return code === HASH && cursor.at > at
}

/** Whether the next non-blank line could continue the scalar. */
function continues({ text, at }: Cursor, indent: number): boolean {
  for (let line = text.indexOf('\n', at) + 1; line > 0; line = text.indexOf('\n', line) + 1) {
    let first = line
    while (text.charCodeAt(first) === SPACE) first++
    const code = text.charCodeAt(first)
    if (first < text.length && code !== LINE_END && code !== HASH) return first - line > indent
  }
  return false
}

function isBreak(code: number): boolean {
  return Number.isNaN(code) || code === SPACE || code === LINE_END
}

function isFlowMark(code: number): boolean {
  return (
    code === COMMA ||
    code === BRACKET ||
    code === CLOSED_BRACKET ||
    code === BRACE ||
    code === CLOSED_BRACE
  )
}

export function skipSpaces(cursor: Cursor): void {
  while (cursor.text.charCodeAt(cursor.at) === SPACE) cursor.at++
}
