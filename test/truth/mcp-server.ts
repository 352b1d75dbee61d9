/**
 * A small MCP server. It offers a tool, a prompt and a resource for each name: a gateway rejects
 * messages about other names in the same words as those that rules deny.
 */
export const OFFERED = ['read', 'write', 'list']
const SCHEMA = { inputSchema: { type: 'object' } }

interface Message {
  readonly id?: unknown
  readonly method?: string
  readonly params?: {
    readonly protocolVersion?: string
    readonly name?: string
    readonly uri?: string
    readonly ref?: { readonly name?: string; readonly uri?: string }
  }
}

/** The names that a message is about, as a client and as its server may call them. */
export function namesIn(body: string): readonly string[] {
  const { params = {} } = readJson(body) as Message
  const { name, uri = name, ref } = params
  const about = uri ?? ref?.uri ?? ref?.name
  return typeof about === 'string' ? [about, about.replace(/^[^_+]*[_+]/, '')] : []
}

/** Requests may have any body. */
function readJson(body: string): object {
  try {
    return Object(JSON.parse(body)) as object
  } catch {
    return {}
  }
}

/** The body of its response, which contains its port; undefined if it accepts a notification. */
export function mcpResponse(
  body: string,
  port: number,
  names: readonly string[],
): string | undefined {
  const { id, method = '', params = {} } = JSON.parse(body) as Message
  if (id === undefined || method === '') return undefined
  const head = { jsonrpc: '2.0', id }
  // Before revision 2026-07-28, servers do not know it.
  if (method === 'server/discover') {
    return JSON.stringify({ ...head, error: { code: -32601, message: 'Method not found' } })
  }
  return JSON.stringify({ ...head, result: resultOf(method, params, `by ${port}`, names) })
}

function resultOf(
  method: string,
  params: NonNullable<Message['params']>,
  by: string,
  names: readonly string[],
): object {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params.protocolVersion ?? '2025-06-18',
        capabilities: { tools: {}, prompts: {}, resources: {}, completions: {}, logging: {} },
        serverInfo: { name: 'small', version: '1' },
      }
    case 'tools/list':
      return { tools: names.map((name) => ({ name, ...SCHEMA })) }
    case 'prompts/list':
      return { prompts: names.map((name) => ({ name })) }
    case 'resources/list':
      return { resources: names.map((uri) => ({ uri, name: uri })) }
    case 'resources/templates/list':
      return { resourceTemplates: [] }
    case 'tools/call':
      return { content: [{ type: 'text', text: by }] }
    case 'prompts/get':
      return { description: by, messages: [] }
    case 'resources/read':
      return { contents: [{ uri: params.uri, text: by }] }
    case 'completion/complete':
      return { completion: { values: [by] } }
    default:
      return {}
  }
}

/** What a client reads in the body of a response. */
export interface ReadMessage {
  readonly isError: boolean
  /** The port of the server that served a call. */
  readonly by: number | undefined
  /** The names in a list of tools, prompts or resources. */
  readonly listed: readonly string[]
}

/** Undefined if there is no response to a request of a client, in JSON or in an event stream. */
export function readMessage(body: string): ReadMessage | undefined {
  for (const line of body.split(/\r?\n/)) {
    const text = line.replace(/^data: ?/, '')
    if (!text.startsWith('{"jsonrpc"')) continue
    const { result, error } = JSON.parse(text) as Response
    if (result === undefined && error === undefined) continue
    const names = Object.entries(result ?? {}).flatMap(([kind, items]) =>
      KINDS.has(kind) ? (items as Item[]).map(({ name, uri }) => `${kind} ${uri ?? name}`) : [],
    )
    const [, port] = /"by (\d+)"/.exec(text) ?? []
    const by = port === undefined ? undefined : Number(port)
    return { isError: error !== undefined, by, listed: names.toSorted() }
  }
  return undefined
}

const KINDS: ReadonlySet<string> = new Set(['tools', 'prompts', 'resources'])

interface Response {
  readonly result?: object
  readonly error?: object
}
interface Item {
  readonly name: string
  readonly uri?: string
}
