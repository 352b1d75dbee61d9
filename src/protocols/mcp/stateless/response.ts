import { editJson, jsonMembers } from '../../json-text.ts'
import { CODES } from '../errors.ts'
import { isObject, type ServerMessage } from '../message.ts'

/** Results that clients may store; those of a session's server are for its caller alone. */
const CACHED: ReadonlySet<string> = new Set([
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
])
const NO_CACHE = '"ttlMs":0,"cacheScope":"private"'
/** Members that are the gateway's to set: a server of an earlier revision means something else. */
const OWN_MEMBERS: ReadonlySet<string> = new Set([
  'resultType',
  'ttlMs',
  'cacheScope',
  'inputRequests',
  'requestState',
])

export const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId'

/** Returns the response with a result in the form of the revision without sessions. */
export function resultForClient(method: string, id: string, result: string): string {
  const members = ['"resultType":"complete"', ...(CACHED.has(method) ? [NO_CACHE] : [])].join(',')
  const others = editJson(result, (path) =>
    path.length === 0 ? 'enter' : OWN_MEMBERS.has(String(path[0])) ? 'drop' : 'keep',
  ).trim()
  const rest = others.slice(1).trimStart()
  const separator = rest.startsWith('}') ? '' : ','
  return `{"jsonrpc":"2.0","id":${id},"result":{${members}${separator}${rest}}`
}

/** A request of a server, under the name by which the client responds to it. */
export interface InputRequest {
  readonly name: string
  readonly method: string
  /** As the server wrote it. */
  readonly params: string | undefined
}

export function inputForClient(
  id: string,
  requests: readonly InputRequest[],
  state: string | undefined,
): string {
  const members = requests.map(({ name, method, params = '{}' }) => {
    const named = JSON.stringify(name)
    return `${named}:{"method":${JSON.stringify(method)},"params":${forStateless(params)}}`
  })
  const own = state === undefined ? '' : `,"requestState":${JSON.stringify(state)}`
  const result = `{"resultType":"input_required","inputRequests":{${members.join(',')}}${own}}`
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`
}

/** Members of a server's request that only clients with a session understand. */
const OF_SESSION: ReadonlySet<string> = new Set(['elicitationId', 'task'])

function forStateless(params: string): string {
  return editJson(params, (path) => {
    const [first, second] = path
    if (path.length === 0) return 'enter'
    if (path.length === 1 && OF_SESSION.has(String(first))) return 'drop'
    if (first !== '_meta') return 'keep'
    return second === 'progressToken' ? 'drop' : path.length === 1 ? 'enter' : 'keep'
  })
}

interface WrittenError {
  readonly code: unknown
  /** As the server wrote it. */
  readonly data: string | undefined
  /** The response, for the client. */
  readonly text: string
}

/** Returns an error with the code that the revision without sessions has for it. */
export function errorForClient(id: string, error: string): WrittenError {
  const members = jsonMembers(error)
  const code: unknown = JSON.parse(members.get('code') ?? '0')
  const own =
    code !== CODES.resourceNotFound
      ? error
      : editJson(error, (path) => {
          if (path.length === 0) return 'enter'
          return path[0] === 'code' ? { text: String(CODES.invalidParams) } : 'keep'
        })
  const text = `{"jsonrpc":"2.0","id":${id},"error":${own}}`
  return { code, data: members.get('data'), text }
}

/** Returns the pages that a server's error requires the user to visit. */
export function urlsIn(data: string | undefined): readonly InputRequest[] {
  const { elicitations } = JSON.parse(data ?? '{}') as { readonly elicitations?: unknown }
  if (!Array.isArray(elicitations)) return []
  return elicitations.filter(isObject).map((params, at) => ({
    name: `page-${at}`,
    method: 'elicitation/create',
    params: JSON.stringify({ ...params, mode: 'url' }),
  }))
}

/** Returns a notification with the client's own token. */
export function progressForClient(text: string, token: string): string {
  return editJson(text, (path) => {
    if (path.length === 2 && path[1] === 'progressToken') return { text: token }
    return path.length === 0 || (path.length === 1 && path[0] === 'params') ? 'enter' : 'keep'
  })
}

/** Returns a notification for a client that listens. `id` is that of its request. */
export function changeForClient({ method, members }: ServerMessage, id: string): string {
  const params = jsonMembers(members.get('params') ?? '{}')
  const meta = jsonMembers(params.get('_meta') ?? '{}')
  const metas = [...meta].filter(([name]) => name !== SUBSCRIPTION_ID)
  const own = written([...metas, [SUBSCRIPTION_ID, id]])
  const all = written([...[...params].filter(([name]) => name !== '_meta'), ['_meta', own]])
  return `{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${all}}`
}

function written(members: readonly (readonly [name: string | number, text: string])[]): string {
  return `{${members.map(([name, text]) => `${JSON.stringify(String(name))}:${text}`).join(',')}}`
}
