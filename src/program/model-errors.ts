import type { RequestAttributes } from '../exchange/attributes.ts'
import type { ErrorFormat } from '../exchange/error-format.ts'
import { gatewayMessage } from '../exchange/gateway-messages.ts'
import type { HeaderView } from '../exchange/header-view.ts'
import type { Reply } from '../exchange/reply.ts'
import type { Dialect, DialectName } from '../protocols/llm/dialect.ts'
import { type LlmError, typeOfStatus } from '../protocols/llm/error.ts'
import { dialectOf, recognizeEndpoint } from '../protocols/llm/index.ts'

/** `usual`: the dialect of clients if path and headers do not determine it. */
export function modelErrorFormat(usual: DialectName): ErrorFormat {
  return (request, reply) => formatError(spokenBy(request, usual), request, reply)
}

function spokenBy({ method, path, headers }: RequestAttributes, usual: DialectName): Dialect {
  const endpoint = recognizeEndpoint(method, path)
  return dialectOf(endpoint?.dialect ?? hinted(headers) ?? usual)
}

function hinted(headers: HeaderView): DialectName | undefined {
  if (headers.get('anthropic-version') !== undefined) return 'messages'
  return headers.get('x-goog-api-key') === undefined ? undefined : 'gemini'
}

function formatError(dialect: Dialect, { id }: RequestAttributes, reply: Reply) {
  const { status } = reply
  const said = reply.message ?? gatewayMessage(status, 'provider')
  const error: LlmError = {
    status,
    type: typeOfStatus(status),
    message: id === '' ? said : `${said} (request ${id})`,
    code: reply.code,
    requestId: id === '' ? undefined : id,
    shouldRetry: reply.isFinal === true ? false : undefined,
  }
  const { headers, body } = dialect.writeError(error)
  const type = headers.find(([name]) => name === 'content-type')?.[1] ?? 'application/json'
  // The gateway sets its own request ID in every response.
  const own = headers.filter(([name]) => name !== 'content-type' && name !== 'x-request-id')
  return { body, contentType: type, headers: own }
}
