import { runToCompletion } from '../../model/steps.ts'
import { type FoundList, readListSteps } from '../json-elements.ts'
import { editJson, membersNamed } from '../json-text.ts'
import { isObject, readKnownMessage } from './message.ts'
import type { ListMethod } from './methods.ts'
import type { Names } from './names.ts'

/** True if a client may see an item, by its name on its server. */
export type ShowsItem = (server: number, name: string, item: string) => boolean

interface ListContext {
  readonly method: ListMethod
  readonly names: Names
  readonly shows: ShowsItem
  /** True if items are hidden from some clients: no cache may keep the list for others. */
  readonly isFiltered: boolean
}

/** Returns the items of a result that a client may see, each as written; in steps. */
export function* itemSteps(
  result: string,
  server: number,
  context: ListContext,
): Generator<void, readonly string[]> {
  return (yield* resultSteps(result, server, context)).items
}

/** `others` is the result without its lists, as written. */
function* resultSteps(
  result: string,
  server: number,
  context: ListContext,
): Generator<void, { readonly items: readonly string[]; readonly others: string }> {
  const { lists, frame } = (yield* readListSteps(result, [], namedBy(context))) ?? {
    lists: [],
    frame: '{}',
  }
  // Of several lists with one name, readers use the last.
  const own = lists.findLast(({ name }) => name === context.method.items)
  if (own === undefined) return { items: [], others: frame }
  const shown = yield* shownSteps(result, own, server, context)
  return { items: shown.map(({ text }) => text), others: frame }
}

interface ShownItem {
  readonly index: number
  readonly text: string
  readonly isRenamed: boolean
}

/** The number of items that are checked in one step. */
const STEP_ITEMS = 8

function* shownSteps(
  text: string,
  { elements }: FoundList,
  server: number,
  { method, names, shows }: ListContext,
): Generator<void, readonly ShownItem[]> {
  const items: ShownItem[] = []
  for (const [index, { picked, start, end }] of elements.entries()) {
    if (index % STEP_ITEMS === 0) yield
    const item = text.slice(start, end)
    const name = nameOf(item, picked, method)
    if (name === undefined || !shows(server, name, item)) continue
    const own = names.forClient(method.part, server, name)
    const isRenamed = own !== name
    const shown = isRenamed ? renamed(item, method, own, (uri) => names.page(server, uri)) : item
    items.push({ index, text: shown, isRenamed })
  }
  return items
}

const namedBy =
  ({ method: { name } }: ListContext) =>
  (item: unknown) =>
    isObject(item) ? item[name] : undefined

/** Returns undefined if readers could disagree on its name; it is then hidden from everyone. */
function nameOf(item: string, known: unknown, method: ListMethod): string | undefined {
  if (typeof known !== 'string') return undefined
  if (isWrittenOnce(item, `"${method.name}"`)) return known
  const [written, ...others] = membersNamed(item, method.name)
  if (written === undefined || others.length > 0 || !written.startsWith('"')) return undefined
  return JSON.parse(written) as string
}

/** Without escapes, which would allow another spelling. */
function isWrittenOnce(item: string, name: string): boolean {
  const first = item.indexOf(name)
  return first >= 0 && item.indexOf(name, first + name.length) < 0 && !item.includes('\\')
}

function renamed(
  item: string,
  method: ListMethod,
  name: string,
  page: (uri: string) => string,
): string {
  return editJson(item, (path, raw, first) => {
    if (path.length === 0) return 'enter'
    const [member, inMeta, inUi] = path
    if (member === '_meta' && method.part === 'tool') {
      if (first === '{') return path.length === 1 || inMeta === 'ui' ? 'enter' : 'keep'
      const isPage = inMeta === 'ui' ? inUi === 'resourceUri' : PAGE_KEYS.has(String(inMeta))
      if (!isPage || first !== '"') return 'keep'
      return { text: JSON.stringify(page(JSON.parse(raw()) as string)) }
    }
    if (path.length > 1 || member !== method.name) return 'keep'
    const text = JSON.stringify(name)
    return JSON.parse(raw()) === name ? 'keep' : { text }
  })
}

/** Members of a tool's `_meta` with the URI of its page, in addition to `ui.resourceUri`. */
const PAGE_KEYS: ReadonlySet<string> = new Set(['ui/resourceUri', 'openai/outputTemplate'])

/** The max characters of a message to filter in one turn. */
const MAX_AT_ONCE = 1 << 15

/**
 * Filters a list of one server; the rest of the message stays as is. A message that is not a
 * response is unchanged. Throws if it is not an MCP message.
 */
export function filterList(
  text: string,
  server: number,
  context: ListContext,
): string | Generator<void, string> {
  const steps = filterSteps(text, server, context)
  return text.length > MAX_AT_ONCE ? steps : runToCompletion(steps)
}

function* filterSteps(text: string, server: number, context: ListContext): Generator<void, string> {
  const read = yield* readListSteps(text, ['result'], namedBy(context))
  if (readKnownMessage(read?.frame ?? '').kind !== 'response' || read === undefined) return text
  const { method, isFiltered } = context
  let out = ''
  let at = 0
  for (const { name, start, end } of read.members) {
    const list = read.lists.find((own) => own.start === start)
    let instead: string | undefined
    if (name === method.items) {
      const shown = list && (yield* shownSteps(text, list, server, context))
      instead = list && shown ? writtenList(text, list, shown) : '[]'
    } else if (name === 'cacheScope' && isFiltered) instead = '"private"'
    if (instead === undefined) continue
    out += text.slice(at, start) + instead
    at = end
  }
  return at === 0 ? text : out + text.slice(at)
}

/** Adjacent shown items stay together as written. */
function writtenList(text: string, { elements }: FoundList, shown: readonly ShownItem[]): string {
  const parts: string[] = []
  for (let first = 0; first < shown.length; ) {
    const own = shown[first] as ShownItem
    let last = first
    const isNext = ({ index, isRenamed }: ShownItem) =>
      !isRenamed && index === (shown[last] as ShownItem).index + 1
    while (!own.isRenamed && last + 1 < shown.length && isNext(shown[last + 1] as ShownItem)) last++
    const [from, to] = [elements[own.index], elements[(shown[last] as ShownItem).index]]
    parts.push(last === first ? own.text : text.slice(from?.start, to?.end))
    first = last + 1
  }
  return `[${parts.join(',')}]`
}

/** The cursor of each server; servers that are done are absent. */
export type Cursors = ReadonlyMap<number, string>

function writeCursor(cursors: Cursors): string {
  return Buffer.from(JSON.stringify([...cursors])).toString('base64url')
}

/** Returns undefined if it is not a cursor of the gateway. */
export function readCursor(text: string, servers: number): Cursors | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    if (!Array.isArray(value) || value.length === 0) return undefined
    const isPair = (pair: unknown): pair is [number, string] => {
      if (!Array.isArray(pair) || pair.length !== 2) return false
      const [server, cursor] = pair as [unknown, unknown]
      const isServer = Number.isInteger(server) && Number(server) >= 0 && Number(server) < servers
      return isServer && typeof cursor === 'string'
    }
    return value.every(isPair) ? new Map(value) : undefined
  } catch {
    return undefined
  }
}

export interface ServerList {
  readonly server: number
  /** The result, as written. */
  readonly result: string
}

/** Merges the lists of several servers. */
export function* mergeSteps(
  id: string,
  lists: readonly ServerList[],
  context: ListContext,
): Generator<void, string> {
  const items: string[] = []
  const cursors = new Map<number, string>()
  let ttl: number | undefined
  let scope: string | undefined
  let isModern = false
  for (const { server, result } of lists) {
    const { items: own, others } = yield* resultSteps(result, server, context)
    for (const item of own) items.push(item)
    const { nextCursor, ttlMs, cacheScope, resultType } = JSON.parse(others) as ListResult
    if (typeof nextCursor === 'string') cursors.set(server, nextCursor)
    if (typeof ttlMs === 'number') ttl = Math.min(ttl ?? ttlMs, ttlMs)
    if (typeof cacheScope === 'string') {
      scope =
        context.isFiltered || cacheScope !== 'public' || scope === 'private' ? 'private' : 'public'
    }
    isModern ||= resultType !== undefined
  }
  const own = [`"${context.method.items}":[${items.join(',')}]`]
  if (cursors.size > 0) own.push(`"nextCursor":${JSON.stringify(writeCursor(cursors))}`)
  if (ttl !== undefined) own.push(`"ttlMs":${ttl}`)
  if (scope !== undefined) own.push(`"cacheScope":"${scope}"`)
  if (isModern) own.push('"resultType":"complete"')
  return `{"jsonrpc":"2.0","id":${id},"result":{${own.join(',')}}}`
}

interface ListResult {
  readonly nextCursor?: unknown
  readonly ttlMs?: unknown
  readonly cacheScope?: unknown
  readonly resultType?: unknown
}
