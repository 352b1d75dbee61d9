import { encodeHeaderValue } from '../../protocols/mcp/header-value.ts'
import { VERSION_KEY } from '../../protocols/mcp/revisions.ts'
import type { Seen } from './client.ts'
import type { Case, McpOutcome } from './format.ts'
import { methodIn, REVISION } from './mcp-stand-in.ts'
import type { Arrival } from './stand-ins.ts'

type McpCase = NonNullable<Case['mcp']>

/** The request for the list that would contain it, and the call itself. */
export interface McpRequests {
  readonly list: Case
  readonly call: Case
  readonly method: string
}

/** The two requests that determine the outcome of a case about a tool, a prompt or a resource. */
export function mcpRequests(one: Case, mcp: McpCase): McpRequests {
  const { tool, prompt, resource, arguments: given } = mcp
  const own = given === undefined ? {} : { arguments: given }
  if (tool !== undefined) return requestsFor(one, 'tools', 'tools/call', { name: tool, ...own })
  if (prompt !== undefined) {
    return requestsFor(one, 'prompts', 'prompts/get', { name: prompt, ...own })
  }
  return requestsFor(one, 'resources', 'resources/read', { uri: resource ?? '' })
}

function requestsFor(
  one: Case,
  part: string,
  method: string,
  params: { readonly name?: string; readonly uri?: string },
): McpRequests {
  const list = messageFor(one, `${part}/list`, {}, undefined)
  return { list, call: messageFor(one, method, params, params.name ?? params.uri), method }
}

function messageFor(one: Case, method: string, params: object, name: string | undefined): Case {
  const _meta = {
    [VERSION_KEY]: REVISION,
    'io.modelcontextprotocol/clientInfo': { name: 'portcullis test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  return {
    ...one,
    method: 'POST',
    path: one.path === '/' ? '/mcp' : one.path,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': REVISION,
      'mcp-method': method,
      ...(name === undefined ? {} : { 'mcp-name': encodeHeaderValue(name) }),
      ...one.headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
  }
}

/** The outcome; undefined if the request was rejected before any decision about it. */
export function outcomeOf(
  mcp: McpCase,
  method: string,
  listed: Seen,
  called: Seen,
  arrivals: readonly Arrival[],
): McpOutcome | undefined {
  const { tool, prompt, resource } = mcp
  const [items, member] = resource === undefined ? ['tools', 'name'] : ['resources', 'uri']
  const list = itemsIn(listed, prompt === undefined ? items : 'prompts')
  const isListed = list.some((item) => item[member] === (tool ?? prompt ?? resource))
  const isReached = arrivals.some(({ body }) => [method, undefined].includes(methodIn(body)))
  if (isReached) return isListed ? 'admitted' : 'unlisted'
  if (!isDecided(called)) return undefined
  return isListed ? 'denied' : 'hidden'
}

/** Whether the response is a decision: a JSON-RPC error, or a challenge for more scopes. */
function isDecided(called: Seen): boolean {
  if (called.kind !== 'responded') return false
  const challenge = called.headers['www-authenticate'] ?? ''
  return called.status === 200 || /error="insufficient_scope"/.test(challenge)
}

function itemsIn(seen: Seen, items: string): readonly Readonly<Record<string, unknown>>[] {
  if (seen.kind !== 'responded' || seen.status !== 200) return []
  // A single message, or the only one in a stream.
  const text = /^data: ?(\{.*)$/m.exec(seen.body)?.[1] ?? seen.body
  try {
    const { result } = JSON.parse(text) as { readonly result?: Readonly<Record<string, unknown>> }
    const list = result?.[items]
    return Array.isArray(list) ? (list as Readonly<Record<string, unknown>>[]) : []
  } catch {
    return []
  }
}
