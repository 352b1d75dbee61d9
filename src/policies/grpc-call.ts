import type { Answer, Question } from '../exchange/ask.ts'

/* A unary call of gRPC, as policies make them to services of users. */

/** One byte that says whether the message is compressed, four of length. */
const PREFIX = 5
const MAX_RESPONSE = 1 << 20

export function grpcCall(path: string, message: Uint8Array, timeout: number): Question {
  const body = Buffer.alloc(PREFIX + message.length)
  body.writeUInt32BE(message.length, 1)
  body.set(message, PREFIX)
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
    maxBytes: MAX_RESPONSE,
  }
}

/** The message of the response, or why there is none. */
export function grpcMessage({ status, headers, trailers, body }: Answer): Uint8Array | string {
  if (status !== 200) return `status ${status}`
  const grpcStatus = trailers.get('grpc-status') ?? headers.get('grpc-status')
  if (grpcStatus !== '0') return `gRPC status ${grpcStatus ?? 'absent'}`
  const content = Buffer.from(body.buffer, body.byteOffset, body.length)
  const isMessage =
    content.length >= PREFIX &&
    content[0] === 0 &&
    content.readUInt32BE(1) === content.length - PREFIX
  return isMessage ? content.subarray(PREFIX) : 'no message of gRPC'
}

interface HeaderBytes {
  readonly key: string
  readonly value?: Uint8Array | undefined
  readonly rawValue?: Uint8Array | undefined
}

/** The value is what it has on the wire: one character for each byte that the service sent. */
export function headerOf(header: HeaderBytes | undefined): readonly [name: string, value: string] {
  const raw = header?.rawValue ?? header?.value ?? new Uint8Array()
  const value = Buffer.from(raw.buffer, raw.byteOffset, raw.length).toString('latin1')
  return [header?.key ?? '', value]
}
