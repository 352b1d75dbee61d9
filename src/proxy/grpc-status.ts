import type { Exchange } from '../exchange/exchange.ts'
import { isGrpcRequest } from '../exchange/grpc.ts'
import { type Fields, joinedValue } from '../wire/http1/fields.ts'

/** HTTP status → gRPC code, as the gRPC specification maps them for clients. */
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

/** The gRPC status for an error of the gateway; undefined if the client does not use gRPC. */
export function grpcStatusFor(exchange: Exchange, status: number): number | undefined {
  if (status < 400 || !isGrpcRequest(exchange)) return undefined
  return CODES[status] ?? UNKNOWN
}

/** Returns -1 if it is not a gRPC response. */
export function grpcStatusOf(fields: Fields): number {
  const text = joinedValue(fields, 'grpc-status')
  return text !== undefined && /^[0-9]{1,3}$/.test(text) ? Number(text) : -1
}
