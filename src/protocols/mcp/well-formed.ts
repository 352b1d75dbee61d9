import type { RequestAttributes } from '../../exchange/attributes.ts'
import { HeaderEdit } from '../../exchange/header-edit.ts'
import type { HeaderReader } from '../../exchange/header-view.ts'
import { type Reply, reply } from '../../exchange/reply.ts'
import { CODES, errorReply } from './errors.ts'
import { type AcceptedHosts, type Arrival, foreignness } from './foreign-pages.ts'
import { claimedVersion, headerProblem, isRemoved } from './header-check.ts'
import { type ClientMessage, idKey, readBatch, readMessage } from './message.ts'
import { isModern } from './revisions.ts'

/* Malformed MCP requests are rejected before any rule about messages is evaluated. */

const ALLOW = new HeaderEdit(['allow'], [['allow', 'GET, POST, DELETE']])
export const NOT_ALLOWED: Reply = reply(405, 'bad-request', '', ALLOW)

type McpRequest = Pick<RequestAttributes, 'method' | 'path' | 'search' | 'host' | 'body'> & {
  readonly headers: HeaderReader
}

/** Checks everything except the body; returns undefined if it may be an MCP request. */
export function rejectedRequest(
  request: McpRequest,
  arrival: Arrival,
  hosts: AcceptedHosts,
): Reply | undefined {
  if (request.path.startsWith('/.well-known/')) return reply(404, 'no-route')
  const message = foreignness(request, arrival, hosts)
  if (message === undefined) return undefined
  return errorReply(403, 'null', { code: CODES.invalidRequest, message }, 'csrf')
}

/**
 * True for the transport of 2024-11-05 outside any session: the path ends with `/sse`, and nothing
 * indicates a later revision.
 */
export function isOfOldTransport({ method, path, search, headers }: McpRequest): boolean {
  if (!path.endsWith('/sse')) return false
  if (method !== 'POST') return headers.get('mcp-protocol-version') === undefined
  return streamOf(search) !== undefined
}

export function streamOf(search: string): string | undefined {
  return new URLSearchParams(search).get('sessionId') ?? undefined
}

/** Checks a request to listen to a stream. */
export function unacceptedStream({ headers }: McpRequest): Reply | undefined {
  if (headers.get('accept')?.includes('text/event-stream')) return undefined
  const message = 'Not Acceptable: Client must accept text/event-stream'
  return errorReply(406, 'null', { code: -32000, message })
}

export function withoutSession(): Reply {
  const error = { code: -32000, message: 'Bad Request: Mcp-Session-Id header is required' }
  return errorReply(400, 'null', error)
}

/** For a method that neither the gateway nor a server knows. */
export function unknownMethod(message: ClientMessage): Reply {
  // 2026-07-28 has a status for it.
  const status = isModern(claimedVersion(message)) ? 404 : 200
  const error = { code: CODES.unknownMethod, message: 'Method not found' }
  return errorReply(status, message.id, error, 'upstream')
}

/** Returns the message of a POST, or the problem. `isOld`: responses go to another stream. */
export function readPost(
  { headers, body = new Uint8Array() }: McpRequest,
  isOld: boolean,
): ClientMessage | Reply {
  if (!isOfJson(headers)) return UNSUPPORTED
  const message = readMessage(body)
  return typeof message === 'string' ? malformed(message) : wellFormed(message, headers, isOld)
}

/** The max messages of one batch. */
const MAX_BATCH = 100

/** True if the body begins like a list. */
export function isBatch({ body = new Uint8Array() }: McpRequest): boolean {
  return body.find((byte) => byte > 0x20) === 0x5b
}

/** Returns the messages of a POST with several, or the problem of one of them. */
export function readPosts({
  headers,
  body = new Uint8Array(),
}: McpRequest): readonly ClientMessage[] | Reply {
  if (!isOfJson(headers)) return UNSUPPORTED
  const messages = readBatch(body, MAX_BATCH)
  if (typeof messages === 'string') return malformed(messages)
  const ids = new Set<string>()
  for (const message of messages) {
    const own = wellFormed(message, headers, false)
    if ('status' in own) return own
    // The handshake must be complete before anything else, and later revisions have no batches.
    if (message.method === 'initialize' || claimedVersion(message) !== undefined) return NO_BATCH
    if (message.kind !== 'request') continue
    const id = idKey(message.id)
    if (ids.has(id)) return NO_BATCH
    ids.add(id)
  }
  return messages
}

export const NO_BATCH = errorReply(400, 'null', {
  code: CODES.invalidRequest,
  message: 'Invalid Request: not a batch of JSON-RPC 2.0 messages',
})

const UNSUPPORTED = errorReply(415, 'null', {
  code: -32000,
  message: 'Unsupported Media Type: Content-Type must be application/json',
})

function isOfJson(headers: HeaderReader): boolean {
  const type = headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  return type === 'application/json'
}

function malformed(how: 'invalid-json' | 'invalid-message'): Reply {
  const error =
    how === 'invalid-message'
      ? { code: CODES.invalidRequest, message: 'Invalid Request: not a JSON-RPC 2.0 message' }
      : { code: CODES.parse, message: 'Parse error: Invalid JSON' }
  return errorReply(400, 'null', error)
}

function wellFormed(
  message: ClientMessage,
  headers: HeaderReader,
  isOld: boolean,
): ClientMessage | Reply {
  if (message.kind === 'request' && !isOld && !acceptsBoth(headers.get('accept'))) {
    const text = 'Not Acceptable: Client must accept both application/json and text/event-stream'
    return errorReply(406, 'null', { code: -32000, message: text })
  }
  if (isRemoved(message)) {
    const error = { code: CODES.unknownMethod, message: 'Method not found' }
    return errorReply(404, message.id, error)
  }
  const problem = headerProblem(message, headers)
  return problem === undefined ? message : errorReply(400, message.id, problem)
}

function acceptsBoth(accept = ''): boolean {
  const types = accept.split(',').map((type) => type.split(';')[0]?.trim().toLowerCase())
  if (types.includes('*/*')) return true
  return types.includes('application/json') && types.includes('text/event-stream')
}
