import type { Exchange } from '../exchange/exchange.ts'
import { isGrpcRequest } from '../exchange/grpc.ts'
import { type Fields, joinedValue } from '../wire/http1/fields.ts'

/** The codes of gRPC for those of HTTP, as its specification has clients read them. */
const CODES: Readonly<Record<number, number>> = {
  400: 13,
  401: 16,
  403: 7,
  404: 12,
  413: 8,
  429: 14,
  502: 14,
  503: 14,
  504: 14,
}
const UNKNOWN = 2

/** The status that a client of gRPC is told for an error of ours; undefined: it speaks no gRPC. */
export function grpcStatusFor(exchange: Exchange, status: number): number | undefined {
  if (status < 400 || !isGrpcRequest(exchange)) return undefined
  return CODES[status] ?? UNKNOWN
}

/** -1 where it is no response of gRPC. */
export function grpcStatusOf(fields: Fields): number {
  const text = joinedValue(fields, 'grpc-status')
  return text !== undefined && /^[0-9]{1,3}$/.test(text) ? Number(text) : -1
}
