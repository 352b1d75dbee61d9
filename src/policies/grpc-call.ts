import { headerText } from '../exchange/header-text.ts'
import type { ServiceRequest, ServiceResponse } from '../exchange/service-call.ts'

/* gRPC calls that policies make to user-defined services. */

/** One byte for the compression flag, four for the length. */
const PREFIX = 5
const MAX_RESPONSE = 1 << 20

export function grpcCall(path: string, message: Uint8Array, timeout: number): ServiceRequest {
  return grpcStream(path, [message], timeout)
}

/** Sends all messages at once, regardless of what the service sends meanwhile. */
export function grpcStream(
  path: string,
  messages: readonly Uint8Array[],
  timeout: number,
  maxBytes = MAX_RESPONSE,
): ServiceRequest {
  const body = Buffer.alloc(messages.reduce((sum, { length }) => sum + PREFIX + length, 0))
  let at = 0
  for (const message of messages) {
    body.writeUInt32BE(message.length, at + 1)
    body.set(message, at + PREFIX)
    at += PREFIX + message.length
  }
  return {
    method: 'POST',
    path,
    authority: '',
    headers: [
      ['content-type', 'application/grpc'],
      ['te', 'trailers'],
      ['grpc-timeout', `${Math.max(1, Math.round(timeout))}m`],
    ],
    body,
    timeout,
    maxBytes,
  }
}

/** The message of the response, or why there is none. */
export function grpcMessage(response: ServiceResponse): Uint8Array | string {
  const messages = grpcMessages(response)
  if (typeof messages === 'string') return messages
  const [only] = messages
  return only === undefined || messages.length > 1 ? NO_MESSAGE : only
}

const NO_MESSAGE = 'invalid gRPC message'

/** All messages of the response, or why there are none. */
export function grpcMessages({
  status,
  headers,
  trailers,
  body,
}: ServiceResponse): readonly Uint8Array[] | string {
  if (status !== 200) return `status ${status}`
  const grpcStatus = trailers.get('grpc-status') ?? headers.get('grpc-status')
  if (grpcStatus !== '0') return `gRPC status ${grpcStatus ?? 'missing'}`
  const content = Buffer.from(body.buffer, body.byteOffset, body.length)
  const messages: Uint8Array[] = []
  for (let at = 0; at < content.length; ) {
    const end = content.length - at < PREFIX ? -1 : at + PREFIX + content.readUInt32BE(at + 1)
    if (content[at] !== 0 || end < 0 || end > content.length) return NO_MESSAGE
    messages.push(content.subarray(at + PREFIX, end))
    at = end
  }
  return messages
}

interface HeaderBytes {
  readonly key: string
  readonly value?: Uint8Array | undefined
  readonly rawValue?: Uint8Array | undefined
}

export function headerOf(header: HeaderBytes | undefined): readonly [name: string, value: string] {
  const raw = header?.rawValue ?? header?.value ?? new Uint8Array()
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.length).toString('latin1')
  return [header?.key ?? '', headerText(bytes)]
}
