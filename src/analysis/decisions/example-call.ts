/** The fields of a record that say what was called. */
export interface RecordedCall {
  readonly path?: string | undefined
  readonly call?:
    | {
        readonly protocol: string
        readonly method?: string | undefined
        readonly name?: string | undefined
      }
    | undefined
  readonly attributes: readonly {
    readonly name: string
    readonly state: string
    readonly value?: unknown
  }[]
}

/** What a request needs beyond method and path to be the same call again. */
export interface ExampleCall {
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

const JSON_BODY = { 'content-type': 'application/json' }
const SAID = { role: 'user', content: 'hello' }

/**
 * Builds a call like the recorded one, as far as the record shows it: the content of messages is
 * never recorded. Undefined: a plain request.
 */
export function exampleCall(recorded: RecordedCall): ExampleCall | undefined {
  const { call, path = '' } = recorded
  switch (call?.protocol) {
    case 'grpc':
      return { headers: { 'content-type': 'application/grpc' } }
    case 'llm':
      return { headers: JSON_BODY, body: modelCall(path, call.name ?? '') }
    case 'mcp':
      return call.method === undefined ? undefined : mcpCall(recorded, call.method, call.name)
    case 'a2a':
      return agentCall(path, call.method)
    default:
      return undefined
  }
}

/** The arguments of a tool or a prompt that the record shows, in their places. */
export function shownArguments({ attributes }: RecordedCall): Readonly<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  for (const { name, state, value } of attributes) {
    const [, path] = /^mcp\.tool\.arguments\.([\w.]+)$/.exec(name) ?? []
    if (path === undefined || state !== 'shown') continue
    const names = path.split('.')
    let at = found
    for (const one of names.slice(0, -1)) {
      if (!Object.hasOwn(at, one)) define(at, one, {})
      at = at[one] as Record<string, unknown>
    }
    define(at, names.at(-1) ?? '', value)
  }
  return found
}

/** Also for names such as `__proto__`. */
function define(object: object, name: string, value: unknown): void {
  const how = { configurable: true, enumerable: true, writable: true }
  Object.defineProperty(object, name, { ...how, value })
}

/** Endpoints by the end of their path; all others name their model in the path. */
const MODEL_CALLS: readonly (readonly [RegExp, (model: string) => object])[] = [
  [/\/chat\/completions$/, (model) => ({ model, messages: [SAID] })],
  [/\/messages(?:\/count_tokens)?$/, (model) => ({ model, max_tokens: 16, messages: [SAID] })],
  [/\/(?:responses|embeddings|moderations)$/, (model) => ({ model, input: SAID.content })],
  [/\/completions$/, (model) => ({ model, prompt: SAID.content })],
  [/\/rerank$/, (model) => ({ model, query: SAID.content, documents: [SAID.content] })],
  [/\/images\/generations$/, (model) => ({ model, prompt: SAID.content })],
]

function modelCall(path: string, model: string): string {
  const body = MODEL_CALLS.find(([form]) => form.test(path))?.[1](model)
  return JSON.stringify(
    body ?? { contents: [{ role: SAID.role, parts: [{ text: SAID.content }] }] },
  )
}

function mcpCall(recorded: RecordedCall, method: string, name: string | undefined): ExampleCall {
  const isResource = method.startsWith('resources/')
  const given = shownArguments(recorded)
  const params = {
    ...(name === undefined ? {} : isResource ? { uri: name } : { name }),
    ...(name === undefined || isResource ? {} : { arguments: given }),
  }
  const headers = { ...JSON_BODY, accept: 'application/json, text/event-stream' }
  return { headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) }
}

/** In HTTP+JSON, the path names the method. */
const REST = /(?:\/message:\w+|\/tasks(?:\/[^/]+)*(?::\w+)?|\/extendedAgentCard|\/v1\/card)\/?$/i

function agentCall(path: string, method = ''): ExampleCall {
  const message = { messageId: '1', role: 'ROLE_USER', parts: [{ text: SAID.content }] }
  const params = /Message$/.test(method) ? { message } : { id: '1' }
  const headers = { ...JSON_BODY, 'a2a-version': '1.0' }
  if (REST.test(path)) {
    return /\/message:/i.test(path) ? { headers, body: JSON.stringify(params) } : { headers }
  }
  return { headers, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) }
}
