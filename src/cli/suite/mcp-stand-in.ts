import type { McpBackend, McpPins, McpTarget } from '../../model/backend.ts'
import { Names } from '../../protocols/mcp/names.ts'
import { digestsOf } from '../../protocols/mcp/pins.ts'
import { HANDSHAKE_REVISIONS, isModern, VERSION_KEY } from '../../protocols/mcp/revisions.ts'
import { readPinFile, writePinFile } from '../../protocols/mcp/schema.ts'
import type { Suite } from './format.ts'

/** What stands in for a server offers. */
export interface Offered {
  readonly tools: ReadonlySet<string>
  readonly prompts: ReadonlySet<string>
  readonly resources: ReadonlySet<string>
}

/**
 * All that cases name of the server, that its pins name, and that the suite says it has. A case
 * about something that does not exist would pass without any rule.
 */
export function offeredBy(backend: McpBackend, target: McpTarget, suite: Suite): Offered {
  const server = backend.targets.indexOf(target)
  const names = namesOf(backend)
  const named = (part: 'tool' | 'prompt' | 'resource') =>
    suite.requests.flatMap(({ mcp }) => {
      const found = mcp?.[part] === undefined ? undefined : names.fromClient(part, mcp[part])
      return found?.server === server ? [found.name] : []
    })
  const { tools = [] } = suite.backends[`${backend.name}/${target.name}`] ?? {}
  return {
    tools: new Set([...pinnedTools(target), ...tools, ...named('tool')]),
    prompts: new Set(named('prompt')),
    resources: new Set(named('resource')),
  }
}

function namesOf({ targets, options }: McpBackend): Names {
  const { prefixMode } = options
  const isPrefixed = prefixMode === 'Always' || (prefixMode !== 'Never' && targets.length > 1)
  return new Names(
    targets.map(({ name }) => name),
    isPrefixed,
  )
}

function pinnedTools({ name, pins }: McpTarget): readonly string[] {
  const file = pins === undefined ? undefined : readPinFile(pins.file.text)
  return typeof file === 'object' ? [...(file.get(name)?.keys() ?? [])] : []
}

const toolOf = (name: string) => ({
  name,
  description: 'A test tool.',
  inputSchema: { type: 'object' },
})

/** The same tools, pinned as the stand-in has them: digests of the real ones are not at hand. */
export function pinsFor(target: McpTarget, pins: McpPins): McpPins {
  const tools = pinnedTools(target).map(
    (name) => [name, digestsOf(JSON.stringify(toolOf(name))) ?? {}] as const,
  )
  return { ...pins, file: { text: writePinFile(new Map([[target.name, new Map(tools)]])) } }
}

interface Message {
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: { readonly [name: string]: unknown }
}

/** The method that a body calls, if it is a message. */
export function methodIn(body: string): string | undefined {
  const { method } = messageIn(body)
  return typeof method === 'string' ? method : undefined
}

function messageIn(body: string): Message {
  try {
    const message: unknown = JSON.parse(body)
    return typeof message === 'object' && message !== null ? (message as Message) : {}
  } catch {
    return {}
  }
}

/** What it responds; undefined: nothing, as to a notification. `text`: what its tools return. */
export function respondTo(body: string, offered: Offered, text: string): string | undefined {
  const { id, method, params = {} } = messageIn(body)
  if (id === undefined || method === undefined) return undefined
  const meta = params['_meta'] as { readonly [name: string]: unknown } | undefined
  const version = meta?.[VERSION_KEY]
  const result = resultOf(String(method), params, offered, text)
  const modern = isModern(typeof version === 'string' ? version : undefined)
    ? { resultType: 'complete', ttlMs: 0, cacheScope: 'public' }
    : {}
  return JSON.stringify({
    jsonrpc: '2.0',
    id,
    ...(result === undefined
      ? { error: { code: -32601, message: 'Method not found' } }
      : { result: { ...result, ...modern } }),
  })
}

function resultOf(
  method: string,
  params: NonNullable<Message['params']>,
  { tools, prompts, resources }: Offered,
  text: string,
): object | undefined {
  const capabilities = { tools: {}, prompts: {}, resources: {} }
  switch (method) {
    case 'initialize': {
      const protocolVersion = params['protocolVersion'] ?? HANDSHAKE_REVISIONS[0]
      return { protocolVersion, capabilities, serverInfo: { name: text, version: '1' } }
    }
    case 'server/discover':
      return { supportedVersions: [REVISION], capabilities }
    case 'ping':
      return {}
    case 'tools/list':
      return { tools: [...tools].map(toolOf) }
    case 'prompts/list':
      return { prompts: [...prompts].map((name) => ({ name })) }
    case 'resources/list':
      return { resources: [...resources].map((uri) => ({ uri, name: uri })) }
    case 'resources/templates/list':
      return { resourceTemplates: [] }
    case 'tools/call':
      return { content: [{ type: 'text', text }] }
    case 'prompts/get':
      return { messages: [{ role: 'user', content: { type: 'text', text } }] }
    case 'resources/read':
      return { contents: [{ uri: params['uri'], text }] }
    default:
      return undefined
  }
}

/** The revision in which cases are sent: each request stands alone. */
export const REVISION = '2026-07-28'
