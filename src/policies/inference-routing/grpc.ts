import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import type { ServiceRequest, ServiceResponse } from '../../exchange/service-call.ts'
import { decode } from '../../protobuf/decode.ts'
import { ProcessingMode_BodySendMode as BodySendMode } from '../../protobuf/generated/envoy/extensions/filters/http/ext_proc/v3/processing_mode_pb.ts'
import {
  type CommonResponse,
  type HeaderMutation,
  type ImmediateResponse,
  ProcessingRequestSchema,
  type ProcessingResponse,
  ProcessingResponseSchema,
} from '../../protobuf/generated/envoy/service/ext_proc/v3/external_processor_pb.ts'
import { grpcMessages, grpcStream, headerOf } from '../grpc-call.ts'
import { type Header, unwritable } from '../service-headers.ts'
import { DESTINATION } from './destination.ts'

const METHOD_PATH = '/envoy.service.ext_proc.v3.ExternalProcessor/Process'

/** The namespace of the metadata in which a response names the endpoints. */
const METADATA = 'envoy.lb'

/** gRPC servers limit messages to a few megabytes. */
const MAX_CHUNK_BYTES = 65_536
/** In addition to the body, which a picker sends back. */
const MAX_BYTES_BESIDE = 1 << 20

/** The result of a picker call. */
export type Picked =
  | {
      readonly kind: 'picked'
      /** In the form `ip:port`, in order of preference. */
      readonly endpoints: readonly string[]
      readonly set: readonly Header[]
      readonly remove: readonly string[]
      /** Undefined: unchanged. */
      readonly body: Uint8Array | undefined
    }
  | {
      readonly kind: 'responded'
      readonly status: number
      readonly headers: readonly Header[]
      readonly body: Uint8Array
      readonly detail: string
    }
  | { readonly kind: 'failed'; readonly detail: string }

/**
 * Sends the whole request at once, as Envoy streams it: pickers read all of it before they pick.
 * The response is not reported to them.
 */
export function pickerCall(
  headers: readonly Header[],
  body: Uint8Array | undefined,
  timeout: number,
): ServiceRequest {
  const values = headers.map(([key, value]) => ({ key, rawValue: Buffer.from(value) }))
  const messages: MessageInitShape<typeof ProcessingRequestSchema>[] = [
    {
      request: {
        case: 'requestHeaders',
        value: { headers: { headers: values }, endOfStream: body === undefined },
      },
      protocolConfig: {
        requestBodyMode: BodySendMode.FULL_DUPLEX_STREAMED,
        responseBodyMode: BodySendMode.NONE,
        sendBodyWithoutWaitingForHeaderResponse: true,
      },
    },
  ]
  for (let at = 0; body !== undefined && at <= body.length; at += MAX_CHUNK_BYTES) {
    // Marks the last chunk; after a body of exactly so many full chunks, an empty one follows.
    const chunk = body.subarray(at, at + MAX_CHUNK_BYTES)
    const endOfStream = at + MAX_CHUNK_BYTES > body.length
    messages.push({ request: { case: 'requestBody', value: { body: chunk, endOfStream } } })
  }
  const encoded = messages.map((one) =>
    toBinary(ProcessingRequestSchema, create(ProcessingRequestSchema, one)),
  )
  const maxBytes = 2 * (body?.length ?? 0) + MAX_BYTES_BESIDE
  return grpcStream(METHOD_PATH, encoded, timeout, maxBytes)
}

export function readPick(sent: ServiceResponse): Picked {
  const messages = grpcMessages(sent)
  if (typeof messages === 'string') return failed(messages)
  const responses: ProcessingResponse[] = []
  for (const message of messages) {
    const response = decode(ProcessingResponseSchema, message)
    if (response === undefined) return failed('not a ProcessingResponse')
    responses.push(response)
  }
  for (const { response } of responses) {
    if (response.case === 'immediateResponse') return immediate(response.value)
  }
  const common = responses.flatMap(({ response }) =>
    response.case === undefined ? [] : ((response.value as WithCommon).response ?? []),
  )
  const { set, remove } = headersIn(common.map(({ headerMutation }) => headerMutation))
  const bad = unwritable(set)
  // Without this header, the backend would trust the client's own header of the same name.
  if (bad !== undefined) return failed(`${bad} cannot be sent`)
  const named = set.find(([name]) => name.toLowerCase() === DESTINATION)?.[1]
  const text = named ?? responses.map(metadataOf).find((one) => one !== undefined) ?? ''
  const endpoints = text.split(',').flatMap((one) => (one.trim() === '' ? [] : [one.trim()]))
  if (endpoints.length === 0) return failed('the picker did not pick an endpoint')
  const body = bodyIn(common)
  if (body === 'incomplete') return failed('the body is incomplete')
  return { kind: 'picked', endpoints, set, remove, body }
}

interface WithCommon {
  readonly response?: CommonResponse
}

function failed(detail: string): Picked {
  return { kind: 'failed', detail }
}

function immediate({ status, headers, body, details }: ImmediateResponse): Picked {
  const code = status?.code ?? 0
  const { set } = headersIn([headers])
  const detail = details === '' ? `status ${code}` : details
  const isStatus = code >= 200 && code <= 599
  if (!isStatus || unwritable(set) !== undefined) return failed(detail)
  return { kind: 'responded', status: code, headers: set, body, detail }
}

function headersIn(mutations: readonly (HeaderMutation | undefined)[]): {
  readonly set: readonly Header[]
  readonly remove: readonly string[]
} {
  return {
    set: mutations.flatMap((one) => (one?.setHeaders ?? []).map(({ header }) => headerOf(header))),
    remove: mutations.flatMap((one) => one?.removeHeaders ?? []),
  }
}

function metadataOf({ dynamicMetadata }: ProcessingResponse): string | undefined {
  const own = dynamicMetadata?.[METADATA]
  const value = typeof own === 'object' && own !== null && !Array.isArray(own) && own[DESTINATION]
  return typeof value === 'string' ? value : undefined
}

/** A body that the picker streams back replaces the original; if there is none, it is unchanged. */
function bodyIn(common: readonly CommonResponse[]): Uint8Array | undefined | 'incomplete' {
  const chunks: Uint8Array[] = []
  let isComplete: boolean | undefined
  for (const { bodyMutation } of common) {
    const { mutation } = bodyMutation ?? {}
    if (mutation?.case === undefined) continue
    if (mutation.case === 'clearBody') continue
    if (mutation.case === 'body') return mutation.value
    chunks.push(mutation.value.body)
    isComplete = mutation.value.endOfStream
  }
  if (isComplete === undefined) return undefined
  return isComplete ? Buffer.concat(chunks) : 'incomplete'
}
