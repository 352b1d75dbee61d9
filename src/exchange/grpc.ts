import type { Exchange } from './exchange.ts'
import type { ResponseDraft } from './response-draft.ts'

/** The client says that it speaks gRPC, over a protocol that can carry it. */
export function isGrpcRequest({ request: { version, headers } }: Exchange): boolean {
  return version === 'HTTP/2' && isGrpcType(headers.get('content-type'))
}

/** The backend responds in gRPC to a client that asked for it: the client alone may only say so. */
export function isGrpcResponse(exchange: Exchange, { isOwn, headers }: ResponseDraft): boolean {
  return !isOwn && isGrpcRequest(exchange) && isGrpcType(headers.get('content-type'))
}

function isGrpcType(contentType: string | undefined): boolean {
  return /^application\/grpc($|[+;])/i.test(contentType ?? '')
}
