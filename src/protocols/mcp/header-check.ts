import type { HeaderReader } from '../../exchange/header-view.ts'
import { CODES, type McpError } from './errors.ts'
import { decodeHeaderValue } from './header-value.ts'
import { type ClientMessage, isObject } from './message.ts'
import { nameMember } from './methods.ts'
import { mismatch, paramHeaders } from './param-headers.ts'
import { isModern, VERSION_KEY } from './revisions.ts'

/** Returns the revision that the message itself names; undefined if it belongs to a session. */
export function claimedVersion({ params }: ClientMessage): string | undefined {
  const { _meta: meta } = params
  const version = isObject(meta) ? meta[VERSION_KEY] : undefined
  return typeof version === 'string' ? version : undefined
}

/** Requests of revisions with sessions that 2026-07-28 no longer has. */
const REMOVED: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/list',
  'tasks/result',
])

/** True if the message requests something that its own revision does not have. */
export function isRemoved(message: ClientMessage): boolean {
  const { kind, method } = message
  return kind === 'request' && REMOVED.has(method) && isModern(claimedVersion(message))
}

/**
 * Rules evaluate the body, while servers may use the headers: a request in which they disagree is
 * rejected, and a request of a revision that requires the headers must have them.
 */
export function headerProblem(message: ClientMessage, headers: HeaderReader): McpError | undefined {
  const { kind, method, params } = message
  const claimed = claimedVersion(message)
  const version = headers.get('mcp-protocol-version')
  const own = headers.get('mcp-method')
  const name = headers.get('mcp-name')
  if (claimed !== undefined && version !== undefined && claimed !== version) {
    return mismatch('MCP-Protocol-Version')
  }
  if (isModern(version) && claimed === undefined && kind === 'request') {
    return method === 'initialize'
      ? mismatch('MCP-Protocol-Version')
      : {
          code: CODES.invalidParams,
          message: `Invalid params: the request is missing \`_meta\` with ${VERSION_KEY}`,
        }
  }
  if (kind !== 'response' && own !== undefined && own.trim() !== method) {
    return mismatch('Mcp-Method')
  }
  if (kind !== 'request') return undefined
  // For a tool call, they are checked once the tool is known.
  const [param] = method === 'tools/call' ? [] : paramHeaders(headers)
  if (param !== undefined) return mismatch(param)
  const member = nameMember(method)
  const named = member === undefined ? undefined : params[member]
  if (name !== undefined && typeof named === 'string') {
    if (decodeHeaderValue(name.trim()) !== named) return mismatch('Mcp-Name')
  }
  if (claimed === undefined || !isModern(claimed)) return undefined
  if (version === undefined) return missing('MCP-Protocol-Version')
  if (own === undefined) return missing('Mcp-Method')
  return name === undefined && typeof named === 'string' ? missing('Mcp-Name') : undefined
}

function missing(header: string): McpError {
  const message = `Bad Request: the ${header} header is required`
  return { code: CODES.headerMismatch, message, data: { mismatch: header } }
}
