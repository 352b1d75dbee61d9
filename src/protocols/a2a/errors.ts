import type { RequestAttributes } from '../../exchange/attributes.ts'
import type { ErrorFormat } from '../../exchange/error-format.ts'
import { gatewayMessage } from '../../exchange/gateway-messages.ts'
import { callIdOf } from './message.ts'
import { isCardPath, restCallOf } from './methods.ts'

const INVALID_REQUEST = -32600
const INTERNAL = -32603

/** `google.rpc.Code`, which the REST binding sends in addition to the HTTP status. */
const STATUSES: Readonly<Record<number, string | undefined>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  413: 'OUT_OF_RANGE',
  415: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

/** Returns the error response to a call over JSON-RPC, which agents send with status 200. */
export function callErrorText(
  { body, id }: RequestAttributes,
  { code, message }: { readonly code: number; readonly message: string },
): string {
  const text = id === '' ? message : `${message} (request ${id})`
  return `{"jsonrpc":"2.0","id":${callIdOf(body)},"error":${JSON.stringify({ code, message: text })}}`
}

/** Formats errors of the gateway as agents do, in the binding that the client uses. */
export const a2aErrorFormat: ErrorFormat = (request, { status, message }) => {
  const { method, path, id } = request
  const said = message ?? gatewayMessage(status, 'server')
  const isRest = method !== 'POST' || isCardPath(path) || restCallOf(method, path) !== undefined
  const written = isRest
    ? JSON.stringify({
        error: {
          code: status,
          status: STATUSES[status] ?? (status >= 500 ? 'INTERNAL' : 'FAILED_PRECONDITION'),
          message: id === '' ? said : `${said} (request ${id})`,
          details: [],
        },
      })
    : callErrorText(request, {
        code: status >= 500 ? INTERNAL : INVALID_REQUEST,
        message: said,
      })
  return { body: Buffer.from(written), contentType: 'application/json', headers: [] }
}
