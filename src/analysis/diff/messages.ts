import type { McpBackend } from '../../model/backend.ts'
import { canonicalJson } from '../../model/json.ts'
import type { Model } from '../../model/model.ts'
import { isText, serversAt, toolsOf } from '../mcp-facts.ts'
import { type Point, pointsOf } from '../points.ts'
import type { Fact } from '../symbolic/attribute-tree.ts'
import { compareCalls } from './calls.ts'
import type { Decide, SemanticDiff } from './difference.ts'
import { type CalledMessage, type Entry, type Ways, waysThrough } from './entries.ts'

type Part = CalledMessage['part']

/** The methods for each kind of feature that a server offers. */
const METHODS: Readonly<Record<Part, readonly string[]>> = {
  tool: ['tools/call'],
  prompt: ['prompts/get', 'completion/complete'],
  resource: [
    'resources/read',
    'resources/subscribe',
    'resources/unsubscribe',
    'completion/complete',
  ],
}

const PARTS: readonly Part[] = ['tool', 'prompt', 'resource']

/** With more tools than this, tools are not analyzed one by one. */
const MAX_TOOLS = 64

/**
 * The calls of tools, prompts and resources of MCP servers that a change newly admits or rejects.
 * Covers backends that have the same servers in both configurations; other differences are reported
 * elsewhere.
 */
export function compareMessages(
  before: Model,
  after: Model,
  decide: { readonly old: Decide; readonly now: Decide },
): SemanticDiff {
  const hasMcp = ({ backends }: Model) => backends.some(({ kind }) => kind === 'mcp')
  if (!hasMcp(before) || !hasMcp(after)) return NO_DIFFERENCES
  const [old, now] = [waysThrough(before), waysThrough(after)]
  const [was, is] = [messagesIn(before, old), messagesIn(after, now)]
  const about = ({ message }: Entry) => {
    const { server, part } = message as CalledMessage
    return `${part}s of \`${server}\``
  }
  return compareCalls({ ways: old, calls: was }, { ways: now, calls: is }, decide, about)
}

const NO_DIFFERENCES: SemanticDiff = { differences: [], untold: [] }

/** Keyed by what is the same in both: the way, the server and what is called. */
function messagesIn(model: Model, { entries }: Ways): ReadonlyMap<string, Entry> {
  const points = new Map<string, Point>()
  for (const point of pointsOf(model)) {
    if (point.stage === 'mcp') points.set(placeOf(point.where), point)
  }
  const found = new Map<string, Entry>()
  for (const entry of entries) {
    const { backend } = entry.where
    if (backend?.kind !== 'mcp') continue
    const { options } = backend
    const shape = canonicalJson([backend.targets.map(({ name }) => name), options])
    for (const server of backend.targets) {
      const where = { ...entry.where, server }
      const point = points.get(placeOf(where)) ?? points.get(placeOf(entry.where))
      if (point === undefined) continue
      for (const part of PARTS) {
        for (const tool of part === 'tool' ? toolsToTry({ ...entry.where, server }) : [undefined]) {
          const key = [entry.key, shape, server.name, part, tool ?? ''].join(' ')
          found.set(key, messageEntry(entry, point, backend, server.name, part, tool))
        }
      }
    }
  }
  return found
}

function toolsToTry(where: Entry['where']): readonly (string | undefined)[] {
  const known = toolsOf(serversAt(where))
  return known === undefined || known.length === 0 || known.length > MAX_TOOLS ? [undefined] : known
}

function placeOf(where: Point['where']): string {
  const { gateway, listener, route, index, number, backend, server } = where
  return [
    ...[gateway.name, listener.name, route?.name, index, number],
    ...[backend?.name, server?.name],
  ].join(' ')
}

function messageEntry(
  entry: Entry,
  point: Point,
  { targets, options }: McpBackend,
  server: string,
  part: Part,
  tool: string | undefined,
): Entry {
  const { prefixMode } = options
  const isPrefixed = prefixMode === 'Always' || (prefixMode !== 'Never' && targets.length > 1)
  const prefix = isPrefixed ? `${server}${part === 'resource' ? '+' : '_'}` : ''
  const methods: Fact = { kind: 'values', values: METHODS[part], isSet: true }
  const others = PARTS.filter((one) => one !== part)
  const facts: readonly (readonly [string, Fact])[] = [
    ['request.method', isText('POST')],
    ["request.headers['content-type']", isText('application/json')],
    ['mcp.methodName', methods],
    ['mcp.sessionId', { kind: 'unset' }],
    ...others.map((one) => [`mcp.${one}`, { kind: 'unset' }] as const),
    [`mcp.${part}`, { kind: 'set' }],
    [`mcp.${part}.target`, isText(server)],
    [`mcp.${part}.name`, tool === undefined ? { kind: 'set' } : isText(tool)],
    ...(part === 'tool' ? [['mcp.tool.arguments', { kind: 'set' }] as const] : []),
  ]
  const [method = ''] = METHODS[part]
  const message = { server, part, prefix, name: tool ?? 'any', method }
  const { mcpAuthorization: _, ...unlooked } = entry.unlooked
  // Rules for messages are evaluated after those of the backend, and in the same way.
  const own = { ...point, stage: 'backend', facts: new Map([...point.facts, ...facts]) } as const
  const points = [...entry.points, own]
  return { ...entry, unlooked, points, message }
}
