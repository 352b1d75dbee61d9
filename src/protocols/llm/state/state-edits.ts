import { editJson, type JsonPath } from '../../json-text.ts'
import { isObject } from '../json.ts'
import type { Fields } from '../reading.ts'

/** Maps an ID; undefined if it is left as is. */
export type MapId = (id: string, member: string) => string | undefined

/** An ID in a request, and the name of the parameter. */
export interface NamedId {
  readonly id: string
  readonly param: string
  /** The request means the same without it, so an unknown ID can be removed. */
  readonly isOptional: boolean
}

const LISTS: readonly string[] = ['input', 'items']

/** Returns every ID in a request that refers to something the provider stores. */
export function stateIdsOf(body: Fields): readonly NamedId[] {
  const found: NamedId[] = []
  const add = (value: unknown, param: string, isOptional = false) => {
    if (typeof value === 'string') found.push({ id: value, param, isOptional })
  }
  add(body['previous_response_id'], 'previous_response_id')
  const { conversation } = body
  add(isObject(conversation) ? conversation['id'] : conversation, 'conversation')
  for (const list of LISTS) {
    const items = body[list]
    if (!Array.isArray(items)) continue
    items.forEach((item, index) => {
      if (!isObject(item)) return
      const at = `${list}[${index}]`
      add(item['id'], `${at}.id`, isWhole(item))
      add(item['approval_request_id'], `${at}.approval_request_id`)
      add(item['container_id'], `${at}.container_id`)
    })
  }
  const { tools } = body
  if (Array.isArray(tools)) {
    tools.forEach((tool, index) => {
      if (isObject(tool)) add(tool['container'], `tools[${index}].container`)
    })
  }
  return found
}

/** Items that are complete, so that the provider looks nothing up by their IDs. */
const WHOLE: ReadonlySet<unknown> = new Set([
  'message',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
])

function isWhole(item: Fields): boolean {
  const { type, role, content } = item
  if (type === undefined || type === null) return typeof role === 'string' && content !== undefined
  if (type === 'message') return content !== undefined
  if (type === 'reasoning') return typeof item['encrypted_content'] === 'string'
  return WHOLE.has(type)
}

/** Replaces the IDs in a request with the provider's; removes unknown optional ones. */
export function editRequest(text: string, map: MapId): string {
  return editJson(text, (path, raw) => {
    const [first, second, third] = path
    if (path.length === 0) return 'enter'
    if (path.length === 1) {
      if (first === 'previous_response_id') return mapped(raw(), path, map)
      if (first === 'conversation')
        return raw().startsWith('{') ? 'enter' : mapped(raw(), path, map)
      return LISTS.includes(first as string) || first === 'tools' ? 'enter' : 'keep'
    }
    if (first === 'conversation') return second === 'id' ? mapped(raw(), path, map) : 'keep'
    if (path.length === 2) return 'enter'
    if (first === 'tools') return third === 'container' ? mapped(raw(), path, map) : 'keep'
    return ITEM_IDS.has(third as string) ? mapped(raw(), path, map, third === 'id') : 'keep'
  })
}

const ITEM_IDS: ReadonlySet<string> = new Set(['id', 'approval_request_id', 'container_id'])

/** Members that always contain an ID, wherever they are. */
const ID_MEMBERS: ReadonlySet<string | number | undefined> = new Set([
  'item_id',
  'previous_response_id',
  'container_id',
  'approval_request_id',
  'first_id',
  'last_id',
])
/** Members with objects that contain IDs; client data (metadata, schemas) is not entered. */
const ENTERED: ReadonlySet<string | number | undefined> = new Set([
  'response',
  'item',
  'conversation',
  'output',
  'data',
  'part',
  'content',
  'annotation',
  'annotations',
])
const WITH_ID: ReadonlySet<string | number | undefined> = new Set([
  'response',
  'item',
  'conversation',
])

/** Replaces the IDs in a response, an event, a list or a resource with the client's. */
export function editResponse(text: string, map: MapId): string {
  return editJson(text, (path, raw) => {
    const last = path.at(-1)
    if (last === undefined || typeof last === 'number' || ENTERED.has(last)) return 'enter'
    const isId = ID_MEMBERS.has(last) || (last === 'id' && hasOwnId(path))
    return isId ? mapped(raw(), path, map) : 'keep'
  })
}

function hasOwnId(path: JsonPath): boolean {
  const parent = path.at(-2)
  if (parent === undefined || WITH_ID.has(parent)) return true
  const list = path.at(-3)
  return typeof parent === 'number' && (list === 'output' || list === 'data')
}

function mapped(raw: string, path: JsonPath, map: MapId, isDropped = false) {
  if (!raw.startsWith('"')) return 'keep'
  const own = map(JSON.parse(raw) as string, memberOf(path))
  if (own !== undefined) return { text: JSON.stringify(own) } as const
  return isDropped ? 'drop' : 'keep'
}

/** The parent member distinguishes the `id` of a response from that of an item. */
function memberOf(path: JsonPath): string {
  const last = String(path.at(-1))
  if (last !== 'id') return last
  const parent = path.at(-2)
  return parent === undefined ? 'id' : typeof parent === 'number' ? 'item.id' : `${parent}.id`
}
