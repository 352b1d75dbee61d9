import { isUtf8 } from 'node:buffer'
import type { Json } from '../../cel/values/json-write.ts'
import type { Answer, Question } from '../../exchange/ask.ts'
import type { Destination, Source } from '../../exchange/connection.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import {
  areMessages,
  bytes,
  entries,
  message,
  messageOf,
  messagesOf,
  number,
  numberOf,
  type Read,
  read,
  text,
  textOf,
  textsOf,
} from './protobuf.ts'
import { readStruct, structOf } from './struct.ts'
import {
  type Changes,
  denial,
  type Header,
  NO_CHANGES,
  unwritableHeader,
  type Verdict,
} from './verdict.ts'

const METHOD_PATH = '/envoy.service.auth.v3.Authorization/Check'

/** What is told besides the request itself. */
export interface Asked {
  readonly headers: readonly Header[]
  readonly body: Uint8Array | undefined
  /** The length of the whole body, where it is known. */
  readonly size: number
  readonly packAsBytes: boolean
  readonly context: Readonly<Record<string, string>>
  readonly metadata: Readonly<Record<string, Json>>
}

/** envoy.service.auth.v3.CheckRequest as a unary call of gRPC. */
export function grpcQuestion(exchange: Exchange, asked: Asked, timeout: number): Question {
  const request = Buffer.concat(checkRequest(exchange, asked).flat())
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(request.length, 1)
  return {
    method: 'POST',
    path: METHOD_PATH,
    authority: '',
    headers: [
      ['content-type', 'application/grpc'],
      ['te', 'trailers'],
      ['grpc-timeout', `${Math.max(1, Math.round(timeout))}m`],
    ],
    body: Buffer.concat([prefix, request]),
    timeout,
    mostBytes: MOST_ANSWER,
  }
}

const MOST_ANSWER = 1 << 20

/** service.auth.v3.AttributeContext, field by field. */
function checkRequest(exchange: Exchange, asked: Asked) {
  const { source, destination, connection, request } = exchange
  const { headers, body, size, packAsBytes, context, metadata } = asked
  const content = body ?? new Uint8Array()
  const isText = !packAsBytes
  const http = [
    text(1, request.id),
    text(2, request.method),
    entries(3, headers, headerText),
    text(4, request.pathAndQuery),
    text(5, request.host),
    text(6, request.scheme),
    text(7, request.query),
    number(9, size),
    text(10, request.version),
    content.length > 0 ? bytes(isText ? 11 : 12, isText ? asText(content) : content) : [],
  ]
  const seconds = Math.floor(request.startedAt / 1000)
  const nanos = Math.floor(request.startedAt % 1000) * 1_000_000
  const fields = Object.entries(metadata)
  return [
    message(
      1,
      message(1, ...peer(source, source.identity ?? source.subject ?? '')),
      message(2, ...peer(destination, '')),
      message(4, message(1, number(1, seconds), number(2, nanos)), message(2, ...http)),
      entries(10, Object.entries(context), text),
      fields.length === 0
        ? []
        : message(
            11,
            entries(1, fields, (field, value) => message(field, ...asStruct(value))),
          ),
      connection.sni === undefined ? [] : message(12, text(1, connection.sni)),
    ),
  ]
}

/**
 * A header has one character for each byte that the client sent. Bytes that are UTF-8 are sent as
 * they are, so that the service sees the text that was meant; others are taken for latin-1.
 */
function headerText(field: number, value: string) {
  const sent = Buffer.from(value, 'latin1')
  return isUtf8(sent) ? bytes(field, sent) : text(field, value)
}

/** A string of protobuf is UTF-8; what is not becomes replacement characters. */
function asText(body: Uint8Array): Uint8Array {
  return Buffer.from(new TextDecoder().decode(body), 'utf8')
}

/** Metadata is by filter, each an object; what is none stands in one under `value`. */
function asStruct(value: Json) {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return structOf(isObject ? (value as Readonly<Record<string, Json>>) : { value })
}

function peer({ address, port }: Source | Destination, principal: string) {
  const socket = message(1, text(2, address.text), number(3, port))
  return [message(1, socket), text(4, principal)]
}

/** envoy.service.auth.v3.CheckResponse. */
export function readGrpcAnswer({ status, headers, trailers, body }: Answer): Verdict {
  const grpcStatus = trailers.get('grpc-status') ?? headers.get('grpc-status')
  if (status !== 200) return { kind: 'failed', detail: `status ${status}` }
  if (grpcStatus !== '0') return { kind: 'failed', detail: `gRPC status ${grpcStatus ?? 'absent'}` }
  const content = Buffer.from(body)
  if (content.length < 5 || content[0] !== 0 || content.readUInt32BE(1) !== content.length - 5) {
    return { kind: 'failed', detail: 'no message of gRPC' }
  }
  const response = read(content.subarray(5))
  if (response === undefined || !isCheckResponse(response)) {
    return { kind: 'failed', detail: 'no CheckResponse' }
  }
  const ok = messageOf(response, 3)
  const code = numberOf(messageOf(response, 1), 1)
  if (code !== 0) return denied(messageOf(response, 2), `code ${code}`)
  // A denial beside the status OK: whichever of the two was meant, the request is not admitted.
  if (response.has(2)) return denied(messageOf(response, 2), 'a denial beside code 0')
  const metadata = messageOf(response, 4) ?? messageOf(ok, 3)
  const changes = changesOf(ok)
  const unwritable = unwritableHeader(changes)
  // Without it the backend would take the client's own header of this name for the service's word.
  if (unwritable !== undefined) return denied(undefined, `${unwritable} cannot be written`)
  return { kind: 'allowed', changes, metadata: readStruct(metadata) }
}

/** Whether all that should be messages in it are. */
function isCheckResponse(response: Read): boolean {
  const ok = messageOf(response, 3)
  const options = [...messagesOf(ok, 2), ...messagesOf(ok, 6)]
  return (
    areMessages(response, [1, 2, 3, 4]) &&
    areMessages(ok, [2, 3, 6, 7]) &&
    options.every((option) => areMessages(option, [1, 2]))
  )
}

const FORBIDDEN = 403

function denied(response: Read | undefined, detail: string): Verdict {
  const code = numberOf(messageOf(response, 1), 1)
  const status = code >= 300 && code <= 599 ? code : FORBIDDEN
  const headers = messagesOf(response, 2).map(headerOf)
  const body = Buffer.from(textOf(response, 3))
  return { kind: 'denied', detail, reply: denial(status, headers, body) }
}

function changesOf(ok: Read | undefined): Changes {
  if (ok === undefined) return NO_CHANGES
  const request = messagesOf(ok, 2)
  const answer = messagesOf(ok, 6)
  const of = (options: readonly Read[], action: Action) =>
    options.filter((option) => actionOf(option) === action).map(headerOf)
  return {
    set: of(request, 'set'),
    add: of(request, 'add'),
    addIfAbsent: of(request, 'add-if-absent'),
    overwrite: of(request, 'overwrite'),
    remove: textsOf(ok, 5),
    answerSet: of(answer, 'set'),
    answerAdd: answer.filter((option) => actionOf(option) !== 'set').map(headerOf),
    querySet: messagesOf(ok, 7).map((pair) => [textOf(pair, 1), textOf(pair, 2)]),
    queryRemove: textsOf(ok, 8),
  }
}

type Action = 'set' | 'add' | 'add-if-absent' | 'overwrite'

/** config.core.v3.HeaderValueOption: where neither field says otherwise, a header is replaced. */
function actionOf(option: Read): Action {
  if (numberOf(messageOf(option, 2), 1) !== 0) return 'add'
  switch (numberOf(option, 3)) {
    case 1:
      return 'add-if-absent'
    case 3:
      return 'overwrite'
    default:
      return 'set'
  }
}

/** The value is what it has on the wire: one character for each byte that the service sent. */
function headerOf(option: Read): Header {
  const header = messageOf(option, 1)
  const raw = header?.get(3)?.at(-1) ?? header?.get(2)?.at(-1)
  const value = raw instanceof Uint8Array ? Buffer.from(raw).toString('latin1') : ''
  return [textOf(header, 1), value]
}
