import type { RequestAttributes } from '../../exchange/attributes.ts'
import type { ErrorFormat } from '../../exchange/error-format.ts'
import { gatewayMessage } from '../../exchange/gateway-messages.ts'
import type { Header } from '../../exchange/header-edit.ts'
import { HeaderEdit, NO_EDIT } from '../../exchange/header-edit.ts'
import type { Reply } from '../../exchange/reply.ts'

/** Error codes of JSON-RPC 2.0 and MCP. */
export const CODES = {
  parse: -32700,
  invalidRequest: -32600,
  unknownMethod: -32601,
  invalidParams: -32602,
  internal: -32603,
  sessionNotFound: -32001,
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
  urlElicitationRequired: -32042,
} as const

export interface McpError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** `id` is as the client wrote it. */
export function errorText(id: string, { code, message, data }: McpError): string {
  const error = JSON.stringify({ code, message, ...(data === undefined ? {} : { data }) })
  return `{"jsonrpc":"2.0","id":${id},"error":${error}}`
}

export function jsonReply(
  status: number,
  text: string,
  reason: Reply['reason'],
  headers: readonly Header[] = [],
): Reply {
  const edit =
    headers.length === 0
      ? NO_EDIT
      : new HeaderEdit(
          headers.map(([name]) => name),
          headers,
        )
  return { status, reason, body: text, headers: edit, contentType: 'application/json' }
}

export function errorReply(
  status: number,
  id: string,
  error: McpError,
  reason: Reply['reason'] = 'bad-request',
): Reply {
  const own = jsonReply(status, errorText(id, error), reason)
  return status === 200
    ? { ...own, detail: '', rejects: error.message }
    : { ...own, detail: error.message }
}

/** Formats the gateway's errors for MCP clients. They never contain detailed reasons. */
export const mcpErrorFormat: ErrorFormat = ({ id }: RequestAttributes, { status, message }) => {
  const said = message ?? gatewayMessage(status, 'server')
  const text = errorText('null', {
    code: status >= 500 ? CODES.internal : CODES.invalidRequest,
    message: id === '' ? said : `${said} (request ${id})`,
  })
  return { body: new TextEncoder().encode(text), contentType: 'application/json', headers: [] }
}
