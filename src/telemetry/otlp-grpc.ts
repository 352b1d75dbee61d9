import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2'
import type { OtlpSend, OtlpSendOptions, OtlpSendResult } from './otlp-send.ts'

const METHOD_PATH = '/opentelemetry.proto.collector.trace.v1.TraceService/Export'
/** One byte that tells of compression, four of length. */
const PREFIX = 5
const LONGEST_ANSWER = 64 << 10

/** Statuses of gRPC after which OTLP says to try again, as the status of HTTP that says the same. */
const RETRIED: readonly string[] = ['1', '4', '8', '10', '11', '14', '15']

/** OTLP over gRPC: one unary call, in protobuf always, on a connection that is kept. */
export function createOtlpGrpcSend(options: OtlpSendOptions): OtlpSend {
  const { url, headers, timeout = 10_000 } = options
  let session: ClientHttp2Session | undefined

  const open = (): ClientHttp2Session => {
    if (session !== undefined && !session.closed && !session.destroyed) return session
    const opened = connect(url)
    // Each stream tells its own failure, and the next call opens another.
    opened.on('error', () => opened.destroy())
    opened.unref()
    session = opened
    return opened
  }

  return (body, _contentType, done) => {
    let isDone = false
    const finish = (result: OtlpSendResult) => {
      if (isDone) return
      isDone = true
      clearTimeout(deadline)
      done(result)
    }
    const stream = open().request({
      ...headers,
      [constants.HTTP2_HEADER_METHOD]: 'POST',
      [constants.HTTP2_HEADER_PATH]: METHOD_PATH,
      [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc+proto',
      [constants.HTTP2_HEADER_TE]: 'trailers',
      'grpc-timeout': `${timeout}m`,
    })
    const deadline = setTimeout(() => {
      finish({ error: `no answer within ${timeout} ms` })
      stream.close(constants.NGHTTP2_CANCEL)
    }, timeout).unref()
    readResponse(stream, finish)
    const prefix = Buffer.alloc(PREFIX)
    prefix.writeUInt32BE(body.length, 1)
    stream.write(prefix)
    stream.end(body)
  }
}

function readResponse(stream: ClientHttp2Stream, finish: (result: OtlpSendResult) => void): void {
  const chunks: Uint8Array[] = []
  let size = 0
  let httpStatus = 0
  let grpcStatus: string | undefined
  const read = (headers: Readonly<Record<string, unknown>>) => {
    if (typeof headers['grpc-status'] === 'string') grpcStatus = headers['grpc-status']
  }
  stream.on('response', (headers) => {
    httpStatus = headers[':status'] ?? 0
    read(headers)
  })
  stream.on('trailers', read)
  stream.on('data', (chunk: Uint8Array) => {
    size += chunk.length
    if (size > LONGEST_ANSWER) stream.close(constants.NGHTTP2_CANCEL)
    else chunks.push(chunk)
  })
  stream.on('error', (error) => finish({ error: error.message }))
  stream.on('close', () => {
    const body = Buffer.concat(chunks).subarray(PREFIX)
    if (grpcStatus === undefined && (httpStatus === 0 || httpStatus === 200)) {
      finish({ error: 'the collector gave no gRPC status' })
    } else finish({ status: statusOf(httpStatus, grpcStatus), retryAfter: undefined, body })
  })
}

/** A proxy in between may have answered, without any gRPC. */
function statusOf(httpStatus: number, grpcStatus: string | undefined): number {
  if (grpcStatus === undefined) return httpStatus
  if (grpcStatus === '0') return 200
  return RETRIED.includes(grpcStatus) ? 503 : 400
}
