export type PartKind = 'tool' | 'prompt' | 'resource'

/** Kinds of objects with a name that belongs to one server; rules do not read `task`. */
export type NameKind = PartKind | 'task'

/** A method whose response lists what servers offer. */
export interface ListMethod {
  readonly kind: 'list'
  /** The member of the result that has the list. */
  readonly items: string
  /** The member of an item that has its name. */
  readonly name: string
  readonly part: NameKind
}

/** A method for one object of one server. */
export interface PartMethod {
  readonly kind: 'part'
  readonly part: NameKind
  /** The member of `params` that has its name. */
  readonly name: 'name' | 'uri' | 'taskId' | 'ref'
}

/** The handshake, messages for every server, and requests that the gateway itself can serve. */
export interface SharedMethod {
  readonly kind: 'handshake' | 'all' | 'ping' | 'listen'
}

export type Method = ListMethod | PartMethod | SharedMethod

const list = (items: string, name: string, part: NameKind): ListMethod => ({
  kind: 'list',
  items,
  name,
  part,
})
const one = (part: NameKind, name: PartMethod['name']): PartMethod => ({ kind: 'part', part, name })

/** Requests of clients. Any other method is unknown. */
const METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['initialize', { kind: 'handshake' }],
  ['server/discover', { kind: 'handshake' }],
  ['ping', { kind: 'ping' }],
  ['tools/list', list('tools', 'name', 'tool')],
  ['tools/call', one('tool', 'name')],
  ['prompts/list', list('prompts', 'name', 'prompt')],
  ['prompts/get', one('prompt', 'name')],
  ['resources/list', list('resources', 'uri', 'resource')],
  ['resources/templates/list', list('resourceTemplates', 'uriTemplate', 'resource')],
  ['resources/read', one('resource', 'uri')],
  ['resources/subscribe', one('resource', 'uri')],
  ['resources/unsubscribe', one('resource', 'uri')],
  ['completion/complete', one('prompt', 'ref')],
  ['tasks/list', list('tasks', 'taskId', 'task')],
  ['tasks/get', one('task', 'taskId')],
  ['tasks/result', one('task', 'taskId')],
  ['tasks/update', one('task', 'taskId')],
  ['tasks/cancel', one('task', 'taskId')],
  ['logging/setLevel', { kind: 'all' }],
  ['subscriptions/listen', { kind: 'listen' }],
])

export function methodOf(name: string): Method | undefined {
  return METHODS.get(name)
}

/** Returns all methods that list something, by name. */
export function listMethods(): readonly (readonly [name: string, method: ListMethod])[] {
  return [...METHODS].flatMap(([name, method]) =>
    method.kind === 'list' ? [[name, method] as const] : [],
  )
}

/** The methods whose header `Mcp-Name` repeats a member of `params` (2026-07-28). */
const NAMED: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
])

export function nameMember(method: string): string | undefined {
  return NAMED.get(method)
}
