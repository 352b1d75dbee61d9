import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import type { Json } from '../../cel/values/json-write.ts'
import { decode } from '../../protobuf/decode.ts'
import {
  ProcessingMode_BodySendMode as BodySendMode,
  ProcessingMode_HeaderSendMode as HeaderSendMode,
  type ProcessingMode,
} from '../../protobuf/generated/envoy/extensions/filters/http/ext_proc/v3/processing_mode_pb.ts'
import {
  type CommonResponse,
  type HeaderMutation,
  type ImmediateResponse,
  ProcessingRequestSchema,
  ProcessingResponseSchema,
  CommonResponse_ResponseStatus as ResponseStatus,
} from '../../protobuf/generated/envoy/service/ext_proc/v3/external_processor_pb.ts'
import { headerOf } from '../grpc-call.ts'
import { type Header, unwritable } from '../service-headers.ts'
import type { ExtProc } from './schema.ts'

/* Messages of envoy.service.ext_proc.v3. */

export type Phase = 'requestHeaders' | 'requestBody' | 'responseHeaders' | 'responseBody'

export type BodyMode = ExtProc['processingOptions']['requestBodyMode']

type Attributes = Readonly<Record<string, Json>>

/** Contents of the first message in addition to its phase. */
export interface Opening {
  readonly requestBody: BodyMode
  readonly responseBody: BodyMode
  readonly metadata: Readonly<Record<string, Attributes>>
}

export interface Outgoing {
  readonly phase: Phase
  readonly headers?: readonly Header[]
  readonly body?: Uint8Array
  readonly endOfStream: boolean
  readonly attributes?: Attributes
}

/** A reply of the service to one message. */
export type Reply =
  | ({ readonly kind: 'continue'; readonly phase: Phase } & Changes)
  | ({ readonly kind: 'immediate'; readonly status: number } & ImmediateParts)
  | { readonly kind: 'failed'; readonly detail: string }

interface ImmediateParts {
  readonly headers: readonly Header[]
  readonly body: Uint8Array
  readonly detail: string
}

export interface Changes {
  readonly set: readonly SetHeader[]
  readonly remove: readonly string[]
  /** Undefined: unchanged. */
  readonly body: NewBody | undefined
  /** The rest of the body is not sent to the service. */
  readonly isReplaced: boolean
  readonly override: Override | undefined
}

/** A chunk of a stream, or the whole body. */
export interface NewBody {
  readonly bytes: Uint8Array
  readonly isPiece: boolean
  readonly endOfStream: boolean
}

export type SetAction = 'overwrite' | 'append' | 'addIfAbsent' | 'overwriteIfExists'

export interface SetHeader {
  readonly name: string
  readonly value: string
  readonly action: SetAction
}

/** Modes that the service sets for later phases; undefined: unchanged. */
export interface Override {
  readonly responseHeaders: 'send' | 'skip' | undefined
  readonly requestBody: BodyMode | 'unknown'
  readonly responseBody: BodyMode | 'unknown'
}

const MODES: Readonly<Record<BodyMode, BodySendMode>> = {
  none: BodySendMode.NONE,
  buffered: BodySendMode.BUFFERED,
  bufferedPartial: BodySendMode.BUFFERED_PARTIAL,
  fullDuplexStreamed: BodySendMode.FULL_DUPLEX_STREAMED,
}

const NAMESPACE = 'envoy.filters.http.ext_proc'

/** `opening`: contents of the first message of a stream. */
export function writeMessage(message: Outgoing, opening?: Opening): Uint8Array {
  const { attributes = {} } = message
  const init: MessageInitShape<typeof ProcessingRequestSchema> = {
    request: partOf(message),
    ...(Object.keys(attributes).length > 0 && {
      attributes: { [NAMESPACE]: attributes as never },
    }),
    ...(opening !== undefined && {
      protocolConfig: {
        requestBodyMode: MODES[opening.requestBody],
        responseBodyMode: MODES[opening.responseBody],
        sendBodyWithoutWaitingForHeaderResponse: opening.requestBody === 'fullDuplexStreamed',
      },
      ...(Object.keys(opening.metadata).length > 0 && {
        metadataContext: { filterMetadata: opening.metadata as never },
      }),
    }),
  }
  return toBinary(ProcessingRequestSchema, create(ProcessingRequestSchema, init))
}

function partOf({ phase, headers = [], body, endOfStream }: Outgoing) {
  const values = headers.map(([key, value]) => ({ key, rawValue: Buffer.from(value) }))
  const head = { headers: { headers: values }, endOfStream }
  const content = { body: body ?? new Uint8Array(), endOfStream }
  switch (phase) {
    case 'requestHeaders':
      return { case: 'requestHeaders', value: head } as const
    case 'responseHeaders':
      return { case: 'responseHeaders', value: head } as const
    case 'requestBody':
      return { case: 'requestBody', value: content } as const
    case 'responseBody':
      return { case: 'responseBody', value: content } as const
  }
}

export function readMessage(bytes: Uint8Array): Reply {
  const read = decode(ProcessingResponseSchema, bytes)
  if (read === undefined) return failed('not a ProcessingResponse')
  const { response, modeOverride } = read
  if (response.case === undefined) return failed('an empty ProcessingResponse')
  if (response.case === 'immediateResponse') return immediate(response.value)
  const common = response.value.response
  const set = setHeadersIn(common?.headerMutation)
  const bad = unwritable(set.filter(isPlain).map(({ name, value }) => [name, value]))
  // Without this header, the other side would trust the client's own header of the same name.
  if (bad !== undefined) return failed(`${bad} cannot be sent`)
  return {
    kind: 'continue',
    phase: response.case,
    set,
    remove: common?.headerMutation?.removeHeaders ?? [],
    body: bodyIn(common),
    isReplaced: common?.status === ResponseStatus.CONTINUE_AND_REPLACE,
    override: modeOverride && overrideOf(modeOverride),
  }
}

function failed(detail: string): Reply {
  return { kind: 'failed', detail }
}

/** Whether the header is not an HTTP/2 pseudo-header. */
function isPlain({ name }: SetHeader): boolean {
  return !name.startsWith(':')
}

function immediate({ status, headers, body, details }: ImmediateResponse): Reply {
  const code = status?.code ?? 0
  const set = setHeadersIn(headers).map(({ name, value }): Header => [name, value])
  const detail = details === '' ? `status ${code}` : details
  const isStatus = code >= 200 && code <= 599
  if (!isStatus || unwritable(set) !== undefined)
    return failed(`invalid immediate response: ${detail}`)
  return { kind: 'immediate', status: code, headers: set, body, detail }
}

const ACTIONS: readonly SetAction[] = ['overwrite', 'addIfAbsent', 'overwrite', 'overwriteIfExists']

/** Without an action, the older `append` applies, which is false by default. */
function setHeadersIn(mutation: HeaderMutation | undefined): readonly SetHeader[] {
  return (mutation?.setHeaders ?? []).map(({ header, append, appendAction }) => {
    const [name, value] = headerOf(header)
    const isAppended = appendAction === 0 && append === true
    const action = isAppended ? 'append' : (ACTIONS[appendAction] ?? 'overwrite')
    return { name: name.toLowerCase(), value, action }
  })
}

function bodyIn(common: CommonResponse | undefined): NewBody | undefined {
  const { mutation } = common?.bodyMutation ?? {}
  switch (mutation?.case) {
    case 'body':
      return { bytes: mutation.value, isPiece: false, endOfStream: true }
    case 'clearBody':
      return mutation.value
        ? { bytes: new Uint8Array(), isPiece: false, endOfStream: true }
        : undefined
    case 'streamedResponse': {
      const { body, endOfStream } = mutation.value
      return { bytes: body, isPiece: true, endOfStream }
    }
    default:
      return undefined
  }
}

function overrideOf(mode: ProcessingMode): Override {
  const bodyMode = (wanted: BodySendMode) =>
    (Object.keys(MODES) as BodyMode[]).find((name) => MODES[name] === wanted) ?? 'unknown'
  const { responseHeaderMode } = mode
  return {
    responseHeaders:
      responseHeaderMode === HeaderSendMode.DEFAULT
        ? undefined
        : responseHeaderMode === HeaderSendMode.SKIP
          ? 'skip'
          : 'send',
    requestBody: bodyMode(mode.requestBodyMode),
    responseBody: bodyMode(mode.responseBodyMode),
  }
}
