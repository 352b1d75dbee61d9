import type { Exchange } from '../exchange/exchange.ts'
import type { HeaderReader } from '../exchange/header-view.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import type { McpMessage } from '../protocols/mcp/attributes.ts'
import { arrivalOf } from '../protocols/mcp/foreign-pages.ts'
import { guardMessage } from '../protocols/mcp/guarded-message.ts'
import { isObject } from '../protocols/mcp/message.ts'
import { methodOf } from '../protocols/mcp/methods.ts'
import { Names } from '../protocols/mcp/names.ts'
import { BATCH_REVISIONS } from '../protocols/mcp/revisions.ts'
import {
  isBatch,
  isOfOldTransport,
  NOT_ALLOWED,
  readPost,
  readPosts,
  rejectedRequest,
  unacceptedStream,
  unknownMethod,
  withoutSession,
} from '../protocols/mcp/well-formed.ts'
import { type HypotheticalBody, unknownGuard } from './explain-call.ts'
import { mcpGuardsFor } from './mcp-guards.ts'
import { pinDecision } from './mcp-pins.ts'
import type { McpUpstream, MessageExplanation } from './program.ts'

/**
 * A tool known from pins or an OpenAPI document, and whether a list would show it to this client.
 */
export interface ExplainedTool {
  /** The name that clients call. */
  readonly tool: string
  readonly state: 'shown' | 'hidden'
}

/** The explanation of a message to MCP servers. */
export interface ExplainedMessage {
  readonly stage?: MessageExplanation
  readonly late?: Reply
  readonly unknown?: string | undefined
  readonly tools?: readonly ExplainedTool[]
}

/** Applies rules and pins, and then guards, which run for every message that is forwarded. */
export function* explainMessage(
  upstream: McpUpstream,
  exchange: Exchange,
  body: HypotheticalBody | undefined,
): Generator<void, ExplainedMessage> {
  const ruled = yield* explainRules(upstream, exchange, body)
  const { stage, late, unknown } = ruled
  const isDenied = stage?.decision?.isEnforced === true && !stage.decision.isAllowed
  const guards = mcpGuardsFor(exchange)
  if (late !== undefined || unknown !== undefined || isDenied || guards === undefined) return ruled
  // Guards that are services reject everything here, and response guards reject what comes back.
  const open = { ...ruled, unknown: unknownGuard(exchange, () => false) }
  if (exchange.request.method !== 'POST' || guards.request === undefined) return open
  if (body?.content === undefined) return { ...ruled, unknown: UNKNOWN_MESSAGE }
  const text = new TextDecoder().decode(body.content)
  const { rejection } = yield* guardMessage(text, guards.request)
  if (rejection === undefined) return open
  // A protocol error, which is a response like any other.
  return { ...ruled, late: { ...reply(200, 'authorization'), message: rejection } }
}

const UNKNOWN_MESSAGE = 'the message is unknown because no body was given'

/** The message is in the body; without a body, there is nothing to evaluate rules on. */
function* explainRules(
  { mcp, servers, isPrefixed, hosts }: McpUpstream,
  exchange: Exchange,
  body: HypotheticalBody | undefined,
): Generator<void, ExplainedMessage> {
  const { method, path, search, host, headers: given } = exchange.request
  const headers = ofClients(given)
  const request = { method, path, search, host, headers, body: body?.content }
  const isOld = isOfOldTransport(request)
  const rejected = rejectedRequest(request, arrivalOf(exchange), hosts)
  if (rejected !== undefined) return { late: rejected }
  // Only the gateway that began the session knows its owner and its expiry.
  const session = headers.get('mcp-session-id')
  if (method === 'GET' || method === 'DELETE') {
    const unaccepted = method === 'GET' && !isOld ? unacceptedStream(request) : undefined
    if (unaccepted !== undefined) return { late: unaccepted }
    if (method === 'DELETE' && session === undefined) return { late: withoutSession() }
    const methodName = method === 'DELETE' ? 'session/end' : 'session/listen'
    return { stage: yield* mcp.explainGeneral(exchange, { methodName }) }
  }
  if (method !== 'POST') return { late: NOT_ALLOWED }
  if (body === undefined) {
    return mcp.isGuarded ? { unknown: UNKNOWN_MESSAGE } : {}
  }
  const version = headers.get('mcp-protocol-version')
  if (!isOld && isBatch(request) && (version === undefined || BATCH_REVISIONS.includes(version))) {
    const messages = readPosts(request)
    if ('status' in messages) return { late: messages }
    return { unknown: 'each message of a batch is decided on its own; explain one at a time' }
  }
  const message = readPost(request, isOld)
  if ('status' in message) return { late: message }
  const known = methodOf(message.method)
  const attributes: McpMessage = { methodName: message.method }
  if (message.kind !== 'request' || known?.kind !== 'part' || known.part === 'task') {
    const isKnown = message.kind !== 'request' || known !== undefined
    // Only a single server is sent other methods.
    const isServed = isKnown || servers.length === 1
    const stage = isKnown
      ? yield* mcp.explainGeneral(exchange, attributes)
      : yield* mcp.explainMessage(exchange, attributes)
    const isList = message.method === 'tools/list'
    if (!isServed) return { stage, late: unknownMethod(message) }
    return { stage, ...(isList ? { tools: toolsFor({ mcp, servers, isPrefixed }, exchange) } : {}) }
  }
  const { ref, arguments: values = {}, ...params } = message.params
  const named = known.name === 'ref' ? ref : { [known.name]: params[known.name] }
  const isPrompt = isObject(named) && named['type'] === 'ref/prompt'
  const part = known.name === 'ref' && !isPrompt ? 'resource' : known.part
  const name = isObject(named) ? (named['name'] ?? named['uri']) : undefined
  if (typeof name !== 'string') return { late: reply(400, 'bad-request') }
  const found = namesOf({ servers, isPrefixed }).fromClient(part, name)
  if (found === undefined) {
    return { unknown: 'the server is only known from the lists of the servers' }
  }
  const target = servers[found.server]?.name ?? ''
  const own = { target, name: found.name }
  const isTool = part === 'tool'
  const about = isTool && isObject(values) ? { ...own, arguments: values } : own
  const stage = yield* mcp.explainMessage(exchange, { ...attributes, [part]: about })
  const pins = isTool ? servers[found.server]?.pins : undefined
  const isDenied = stage.decision?.isEnforced === true && !stage.decision.isAllowed
  if (pins === undefined || isDenied) return { stage }
  if (pins.tools.has(found.name)) {
    if (pins.mode !== 'Enforce') return { stage }
    return {
      stage,
      unknown: `it depends on whether server \`${target}\` offers the tool as pinned`,
    }
  }
  const tools = [{ name: found.name, changes: ['new'] as const }]
  const isEnforced = pins.mode === 'Enforce'
  const decision = pinDecision({ target, isEnforced, isCall: true, tools })
  return { stage: { ...stage, decision } }
}

/** Headers that all clients send, unless the request specifies them. */
const USUAL: Readonly<Record<string, string>> = {
  accept: 'application/json, text/event-stream',
  'content-type': 'application/json',
}

function ofClients(headers: HeaderReader): HeaderReader {
  return { get: (name) => headers.get(name) ?? USUAL[String(name)], keys: () => headers.keys() }
}

function namesOf({ servers, isPrefixed }: Pick<McpUpstream, 'servers' | 'isPrefixed'>): Names {
  return new Names(
    servers.map(({ name }) => name),
    isPrefixed,
  )
}

function toolsFor(
  upstream: Pick<McpUpstream, 'mcp' | 'servers' | 'isPrefixed'>,
  exchange: Exchange,
): readonly ExplainedTool[] {
  const names = namesOf(upstream)
  return upstream.servers.flatMap(({ name: target, pins, knownTools }, server) =>
    (knownTools() ?? [...(pins?.tools.keys() ?? [])]).map((name): ExplainedTool => {
      const message = { methodName: 'tools/list', tool: { target, name } }
      const isShown = upstream.mcp.shows(exchange, message)
      return { tool: names.forClient('tool', server, name), state: isShown ? 'shown' : 'hidden' }
    }),
  )
}
