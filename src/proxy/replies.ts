import type { Exchange } from '../exchange/exchange.ts'
import { type Header, HeaderEdit } from '../exchange/header-edit.ts'
import { KeptHeaders } from '../exchange/kept-headers.ts'
import type { Recorded } from '../exchange/recorded.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import type { Downstream } from '../wire/downstream.ts'
import { type FieldLines, fieldLine, joinLines, NO_LINES } from '../wire/http1/field-lines.ts'
import { reasonOf } from '../wire/http1/reasons.ts'
import { renderedEdit } from '../wire/http1/rendered-edit.ts'
import { grpcStatusFor } from './grpc-status.ts'

export const RETRY_AFTER = new HeaderEdit([], [['retry-after', '1']])
export const OVERLOADED = reply(503, 'overload', '', RETRY_AFTER)

/** A response of the gateway itself as the client receives it, apart from what policies change. */
export interface OwnResponse {
  readonly reply: Reply
  readonly status: number
  /** Its gRPC status, if the client uses gRPC. */
  readonly grpc: number | undefined
  readonly body: Buffer
  readonly contentType: string
}

/** In the format that the client requests. */
export function ownResponse(exchange: Exchange, reply: Reply): OwnResponse {
  const grpc = grpcStatusFor(exchange, reply.status)
  // A gRPC error is 200 in HTTP: its own status is in the trailers, or in the head if that is all.
  const status = grpc === undefined ? reply.status : 200
  if (grpc !== undefined) {
    const [body, contentType] = GRPC_BODY
    return { reply, status, grpc, body, contentType }
  }
  const { errorFormat, request } = exchange
  if (errorFormat !== undefined && reply.body.length === 0 && status >= 400) {
    const { body, contentType, headers } = errorFormat(request, reply)
    const own = headers.length === 0 ? reply : { ...reply, headers: withHeaders(reply, headers) }
    return { reply: own, status, grpc, body: Buffer.from(body), contentType }
  }
  const [body, contentType] = bodyOf(exchange, reply)
  return { reply, status, grpc, body, contentType }
}

/**
 * Writes a response of the gateway itself, in the format that the client requests. `keeps`: its
 * headers are read when it is over.
 */
export function writeReply(
  connection: Downstream,
  exchange: Exchange,
  recorded: Recorded,
  reply: Reply,
  keeps = false,
): void {
  const own = ownResponse(exchange, reply)
  const edit = own.reply.headers.with(exchange.responseEdit)
  sendOwnResponse(connection, exchange, recorded, own, edit, keeps)
}

/** Headers of the reply itself take precedence over those of its format. */
function withHeaders(reply: Reply, headers: readonly Header[]): HeaderEdit {
  return new HeaderEdit(
    headers.map(([name]) => name),
    headers,
  ).with(reply.headers)
}

/** `edit` contains everything that policies change in its headers. */
export function sendOwnResponse(
  connection: Downstream,
  exchange: Exchange,
  recorded: Recorded,
  { reply, status, grpc, body, contentType }: OwnResponse,
  edit: HeaderEdit,
  keeps: boolean,
): void {
  exchange.status = status
  exchange.reason = reply.reason
  exchange.detail = reply.detail ?? ''
  let { lines } = renderedEdit(edit)
  exchange.unwritten = edit.unwritten
  if (grpc !== undefined) {
    exchange.grpcStatus = grpc
    lines = add(lines, 'grpc-status', String(grpc))
    lines = add(lines, 'grpc-message', reasonOf(reply.status))
  }
  const named = edit.removed.includes('content-type') ? '' : contentType
  if (named !== '') lines = add(lines, 'content-type', named)
  const { id } = exchange.request
  if (id !== '') lines = add(lines, 'x-request-id', id)
  if (keeps) {
    const kept = new KeptHeaders(undefined, edit)
    if (named !== '') kept.set('content-type', named)
    if (id !== '') kept.set('x-request-id', id)
    exchange.responseHeaders = kept
  }
  connection.reply(recorded, status, lines, body)
}

const GRPC_BODY = [Buffer.alloc(0), 'application/grpc'] as const

function add(lines: FieldLines, name: string, value: string): FieldLines {
  return joinLines(lines, fieldLine(name, value) ?? NO_LINES)
}

function bodyOf(exchange: Exchange, reply: Reply): readonly [Buffer, string] {
  const { status, body } = reply
  if (body.length > 0 || status < 400) {
    return [typeof body === 'string' ? Buffer.from(body) : Buffer.from(body), reply.contentType]
  }
  const { headers, id } = exchange.request
  return problemOf(status, id, headers.get('accept'))
}

/** Rejects a request that has no exchange, but has an id nevertheless. */
export function writeRejection(
  connection: Downstream,
  recorded: Recorded,
  status: number,
  id: string,
  accept: string | undefined,
  more: FieldLines,
): void {
  const [body, contentType] = problemOf(status, id, accept)
  const lines = add(add(more, 'content-type', contentType), 'x-request-id', id)
  connection.reply(recorded, status, lines, body)
}

/** RFC 9457 for clients that accept JSON, a line of text for humans; never the reason in detail. */
function problemOf(
  status: number,
  id: string,
  accept: string | undefined,
): readonly [Buffer, string] {
  const title = reasonOf(status)
  if (accept?.includes('json')) {
    const problem = { type: 'about:blank', title, status, ...(id === '' ? {} : { instance: id }) }
    return [Buffer.from(`${JSON.stringify(problem)}\n`), 'application/problem+json']
  }
  const text = id === '' ? `${title}\n` : `${title}\nrequest ${id}\n`
  return [Buffer.from(text), 'text/plain; charset=utf-8']
}
