import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import type { Json } from '../../cel/values/json-write.ts'
import type { JsonObject } from '../../cel/values/value.ts'
import type { Destination, Source } from '../../exchange/connection.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import type { ServiceRequest, ServiceResponse } from '../../exchange/service-call.ts'
import { decode } from '../../protobuf/decode.ts'
import {
  HeaderValueOption_HeaderAppendAction as HeaderAppendAction,
  type HeaderValueOption,
} from '../../protobuf/generated/envoy/config/core/v3/base_pb.ts'
import type {
  AttributeContext_PeerSchema,
  AttributeContextSchema,
} from '../../protobuf/generated/envoy/service/auth/v3/attribute_context_pb.ts'
import {
  CheckRequestSchema,
  CheckResponseSchema,
  type DeniedHttpResponse,
  type OkHttpResponse,
} from '../../protobuf/generated/envoy/service/auth/v3/external_auth_pb.ts'
import { grpcCall, grpcMessage, headerOf } from '../grpc-call.ts'
import type { Header } from '../service-headers.ts'
import { type Changes, denial, NO_CHANGES, unwritableHeader, type Verdict } from './verdict.ts'

const METHOD_PATH = '/envoy.service.auth.v3.Authorization/Check'

/** What is sent in addition to the request itself. */
export interface CheckInput {
  readonly headers: readonly Header[]
  readonly body: Uint8Array | undefined
  /** The length of the whole body, if known. */
  readonly size: number
  readonly packAsBytes: boolean
  readonly context: Readonly<Record<string, string>>
  readonly metadata: Readonly<Record<string, Json>>
}

/** envoy.service.auth.v3.CheckRequest as a unary gRPC call. */
export function grpcQuestion(
  exchange: Exchange,
  asked: CheckInput,
  timeout: number,
): ServiceRequest {
  const attributes = attributeContext(exchange, asked)
  const request = toBinary(CheckRequestSchema, create(CheckRequestSchema, { attributes }))
  return grpcCall(METHOD_PATH, request, timeout)
}

function attributeContext(
  exchange: Exchange,
  asked: CheckInput,
): MessageInitShape<typeof AttributeContextSchema> {
  const { source, destination, connection, request } = exchange
  const { headers, body, size, packAsBytes, context, metadata } = asked
  const content = body ?? NO_BODY
  const shown = packAsBytes ? { rawBody: content } : { body: asText(content) }
  const filters = Object.entries(metadata).map(([name, value]) => [name, asObject(value)])
  return {
    source: peer(source, source.identity ?? source.subject ?? ''),
    destination: peer(destination, ''),
    request: {
      time: {
        seconds: BigInt(Math.floor(request.startedAt / 1000)),
        nanos: Math.floor(request.startedAt % 1000) * 1_000_000,
      },
      http: {
        id: request.id,
        method: request.method,
        headers: Object.fromEntries(headers),
        path: request.pathAndQuery,
        host: request.host,
        scheme: request.scheme,
        query: request.query,
        size: BigInt(size),
        protocol: request.version,
        ...shown,
      },
    },
    contextExtensions: context,
    ...(filters.length > 0 && {
      metadataContext: { filterMetadata: Object.fromEntries(filters) },
    }),
    ...(connection.sni !== undefined && { tlsSession: { sni: connection.sni } }),
  }
}

/** A protobuf string is UTF-8; invalid bytes become replacement characters. */
function asText(body: Uint8Array): string {
  return new TextDecoder().decode(body)
}

/**
 * Metadata has an object for each filter; any other value is wrapped in an object under `value`.
 */
function asObject(value: Json): Readonly<Record<string, Json>> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as Readonly<Record<string, Json>>) : { value }
}

function peer(
  { address, port }: Source | Destination,
  principal: string,
): MessageInitShape<typeof AttributeContext_PeerSchema> {
  const portSpecifier = { case: 'portValue', value: port } as const
  const socketAddress = { address: address.text, portSpecifier }
  return { address: { address: { case: 'socketAddress', value: socketAddress } }, principal }
}

/** envoy.service.auth.v3.CheckResponse. */
export function readGrpcResponse(sent: ServiceResponse): Verdict {
  const message = grpcMessage(sent)
  if (typeof message === 'string') return { kind: 'failed', detail: message }
  const response = decode(CheckResponseSchema, message)
  if (response === undefined) return { kind: 'failed', detail: 'not a CheckResponse' }
  const { status: state, deniedResponse, okResponse, dynamicMetadata } = response
  const code = state?.code ?? 0
  if (code !== 0) return denied(deniedResponse, `code ${code}`)
  // A denied response with status OK is contradictory, so the request is not admitted.
  if (deniedResponse !== undefined) return denied(deniedResponse, 'a denied response with code 0')
  const changes = changesOf(okResponse)
  const unwritable = unwritableHeader(changes)
  // Without this header, the backend would trust the client's own header of the same name.
  if (unwritable !== undefined) return denied(undefined, `${unwritable} cannot be sent`)
  const metadata = (dynamicMetadata ?? okResponse?.dynamicMetadata ?? {}) as JsonObject
  return { kind: 'allowed', changes, metadata }
}

const FORBIDDEN = 403

function denied(response: DeniedHttpResponse | undefined, detail: string): Verdict {
  const code = response?.status?.code ?? 0
  const status = code >= 300 && code <= 599 ? code : FORBIDDEN
  const headers = (response?.headers ?? []).map(({ header }) => headerOf(header))
  return { kind: 'denied', detail, reply: denial(status, headers, response?.body ?? NO_BODY) }
}

const NO_BODY = new Uint8Array()

function changesOf(ok: OkHttpResponse | undefined): Changes {
  if (ok === undefined) return NO_CHANGES
  const of = (action: Action) =>
    ok.headers.filter((option) => actionOf(option) === action).map(({ header }) => headerOf(header))
  const added = ok.responseHeadersToAdd
  return {
    set: of('set'),
    add: of('add'),
    addIfAbsent: of('add-if-absent'),
    overwrite: of('overwrite'),
    remove: ok.headersToRemove,
    responseSet: added
      .filter((option) => actionOf(option) === 'set')
      .map(({ header }) => headerOf(header)),
    responseAdd: added
      .filter((option) => actionOf(option) !== 'set')
      .map(({ header }) => headerOf(header)),
    querySet: ok.queryParametersToSet.map(({ key, value }) => [key, value]),
    queryRemove: ok.queryParametersToRemove,
  }
}

type Action = 'set' | 'add' | 'add-if-absent' | 'overwrite'

/** By default, a header is replaced. */
function actionOf({ append, appendAction }: HeaderValueOption): Action {
  if (append === true) return 'add'
  switch (appendAction) {
    case HeaderAppendAction.ADD_IF_ABSENT:
      return 'add-if-absent'
    case HeaderAppendAction.OVERWRITE_IF_EXISTS:
      return 'overwrite'
    default:
      return 'set'
  }
}
