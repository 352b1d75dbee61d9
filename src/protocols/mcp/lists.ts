import { runToCompletion } from '../../model/steps.ts'
import { editJson, type JsonPath, jsonMembers, membersNamed } from '../json-text.ts'
import type { ListMethod } from './methods.ts'
import type { Names } from './names.ts'

/** Whether a client may see an item, by its name on its server. */
export type ShowsItem = (server: number, name: string, item: string) => boolean

interface ListContext {
  readonly method: ListMethod
  readonly names: Names
  readonly shows: ShowsItem
  /** Items are left out for some clients: no cache may keep the list for others. */
  readonly isFiltered: boolean
}

/** The items of a result as a client may see them, each as it is written; one step for each. */
export function* itemSteps(
  result: string,
  server: number,
  context: ListContext,
): Generator<void, readonly string[]> {
  const list = jsonMembers(result).get(context.method.items)
  return list === undefined ? [] : yield* shownSteps(list, server, context)
}

function* shownSteps(
  list: string,
  server: number,
  { method, names, shows }: ListContext,
): Generator<void, readonly string[]> {
  if (!list.startsWith('[')) return []
  const items: string[] = []
  for (const item of jsonMembers(list).values()) {
    yield
    const name = nameOf(item, method)
    if (name === undefined || !shows(server, name, item)) continue
    const own = names.forClient(method.part, server, name)
    items.push(own === name ? item : renamed(item, method, own))
  }
  return items
}

/** Undefined: it has none that everyone would read alike, and is shown to nobody. */
function nameOf(item: string, method: ListMethod): string | undefined {
  const [written, ...others] = membersNamed(item, method.name)
  if (written === undefined || others.length > 0 || !written.startsWith('"')) return undefined
  return JSON.parse(written) as string
}

function renamed(item: string, method: ListMethod, name: string): string {
  return editJson(item, (path, raw) => {
    if (path.length === 0) return 'enter'
    if (path.length > 1 || path[0] !== method.name) return 'keep'
    const text = JSON.stringify(name)
    return JSON.parse(raw()) === name ? 'keep' : { text }
  })
}

/** Letters of a message that is filtered in one turn. */
const MAX_AT_ONCE = 1 << 15

/** A list of one server, filtered; all else of the result stays as it is. */
export function filterList(
  text: string,
  server: number,
  context: ListContext,
): string | Generator<void, string> {
  const steps = filterSteps(text, server, context)
  return text.length > MAX_AT_ONCE ? steps : runToCompletion(steps)
}

function* filterSteps(text: string, server: number, context: ListContext): Generator<void, string> {
  const { items } = context.method
  const isAround = (path: JsonPath) =>
    path.length === 0 || (path.length === 1 && path[0] === 'result')
  const isIn = (path: JsonPath) => path.length === 2 && path[0] === 'result'
  const lists: string[] = []
  editJson(text, (path, raw) => {
    if (isAround(path)) return 'enter'
    if (isIn(path) && path[1] === items) lists.push(raw())
    return 'keep'
  })
  const shown: string[] = []
  for (const list of lists) {
    shown.push(`[${(yield* shownSteps(list, server, context)).join(',')}]`)
  }
  return editJson(text, (path) => {
    if (isAround(path)) return 'enter'
    if (!isIn(path)) return 'keep'
    if (path[1] === items) return { text: shown.shift() ?? '[]' }
    return path[1] === 'cacheScope' && context.isFiltered ? { text: '"private"' } : 'keep'
  })
}

/** Where each server goes on; servers that are done are missing. */
export type Cursors = ReadonlyMap<number, string>

function writeCursor(cursors: Cursors): string {
  return Buffer.from(JSON.stringify([...cursors])).toString('base64url')
}

/** Undefined: it is none of the gateway's. */
export function readCursor(text: string, servers: number): Cursors | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    if (!Array.isArray(value) || value.length === 0) return undefined
    const isPair = (pair: unknown): pair is [number, string] => {
      if (!Array.isArray(pair) || pair.length !== 2) return false
      const [server, cursor] = pair as [unknown, unknown]
      return Number.isInteger(server) && Number(server) < servers && typeof cursor === 'string'
    }
    return value.every(isPair) ? new Map(value) : undefined
  } catch {
    return undefined
  }
}

export interface ServerList {
  readonly server: number
  /** The result, as it is written. */
  readonly result: string
}

/** The lists of several servers as one. */
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
    for (const item of yield* itemSteps(result, server, context)) items.push(item)
    const { nextCursor, ttlMs, cacheScope, resultType } = JSON.parse(result) as ListResult
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
