import type { McpBackend, McpPins, McpTarget } from '../../model/backend.ts'
import { Names } from '../../protocols/mcp/names.ts'
import { digestsOf } from '../../protocols/mcp/pins.ts'
import { HANDSHAKE_REVISIONS, isModern, VERSION_KEY } from '../../protocols/mcp/revisions.ts'
import { readPinFile, writePinFile } from '../../protocols/mcp/schema.ts'
import type { Suite } from './format.ts'

/** What an MCP stand-in offers. */
export interface Offered {
  readonly tools: ReadonlySet<string>
  readonly prompts: ReadonlySet<string>
  readonly resources: ReadonlySet<string>
}

/**
 * Everything that cases and pins name for the server, and that the suite defines for it. A case
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

/** Pins the same tools with the stand-in's digests: those of the real ones are unavailable. */
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

/** The method in a body, if it is a message. */
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

/** The response; undefined if none, as for a notification. `text`: the result of its tools. */
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

/** The protocol revision of cases: each request is independent. */
export const REVISION = '2026-07-28'
