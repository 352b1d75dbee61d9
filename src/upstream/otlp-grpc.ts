import { lookup } from 'node:dns/promises'
import type { OtlpSend, OtlpSendOptions, OtlpSendResult } from '../telemetry/otlp-send.ts'
import { Deadlines } from '../wire/deadlines.ts'
import { type Fields, joinedValue } from '../wire/http1/fields.ts'
import type { ResponseHead } from '../wire/http1/response-head.ts'
import { Http2Pool, type OpenSocket, type StreamWaiting } from '../wire/http2/client-pool.ts'
import type { ResponseEvents, UpstreamConnection } from '../wire/upstream-connection.ts'
import { type Address, literalAddress } from './addresses.ts'
import { handshakeWith, PLAIN_TLS } from './backend-tls.ts'
import { type Dial, dialer } from './connect.ts'
import type { Resolution } from './dns.ts'

const METHODS = {
  traces: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
  logs: '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
} as const
/** One byte for the compression flag, four for the length. */
const PREFIX = 5
const MAX_RESPONSE = 64 << 10
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' }

/** The gRPC statuses after which OTLP retries; they map to the equivalent HTTP status. */
const RETRIED: readonly string[] = ['1', '4', '8', '10', '11', '14', '15']

/** OTLP over gRPC: one unary call, always protobuf, on a kept-alive connection. */
export function createOtlpGrpcSend(
  options: OtlpSendOptions,
  signal: keyof typeof METHODS = 'traces',
): OtlpSend {
  const { url, headers = {}, timeout = 10_000 } = options
  const { host } = new URL(url)
  const lines = Object.entries({
    host,
    'content-type': 'application/grpc+proto',
    connection: 'te',
    te: 'trailers',
    'grpc-timeout': `${timeout}m`,
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `POST ${METHODS[signal]} HTTP/1.1\r\n${lines.join('')}\r\n`
  let detail = ''
  const open: OpenSocket = (events) =>
    dialTo(
      url,
      timeout,
    )({
      opened: (socket, protocol) => {
        socket.unref()
        events.opened(socket, protocol)
      },
      failed: (reason, own) => {
        detail = own
        events.failed(reason, own)
      },
    })
  const pool = new Http2Pool(open, { max: 1, connectTimeout: timeout }, new Deadlines())
  return (body, _contentType, done) =>
    new Call(pool, head, body, timeout, (result) => {
      const isUnconnected = 'error' in result && detail !== ''
      done(isUnconnected ? { error: `${result.error}: ${detail}` } : result)
      detail = ''
    }).start()
}

function dialTo(url: string, timeout: number): Dial {
  const { protocol, hostname, port } = new URL(url)
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return dialer(
    { kind: 'tcp', host, port: Number(port || DEFAULT_PORTS[protocol]) },
    {
      timeout,
      keepalive: { enabled: false, time: 0, interval: 0, retries: 0 },
      tls: protocol === 'https:' ? handshakeWith(PLAIN_TLS, host, ['h2']) : undefined,
      rejectsLocal: false,
      resolve: resolveByLookup,
    },
  )
}

async function resolveByLookup(name: string): Promise<Resolution> {
  const literal = literalAddress(name)
  if (literal !== undefined) return [literal]
  try {
    return (await lookup(name, { all: true })) as readonly Address[]
  } catch {
    return 'dns'
  }
}

/** One call in progress; it calls back exactly once. */
class Call implements StreamWaiting, ResponseEvents {
  /** The whole call has one timeout. */
  readonly idleTimeout: number = Number.POSITIVE_INFINITY
  readonly #pool: Http2Pool
  readonly #head: string
  readonly #body: Uint8Array
  readonly #timeout: number
  readonly #deadline: NodeJS.Timeout
  #done: ((result: OtlpSendResult) => void) | undefined
  #connection: UpstreamConnection | undefined = undefined
  readonly #pieces: Buffer[] = []
  #size = 0
  #httpStatus = 0
  #grpcStatus: string | undefined = undefined

  constructor(
    pool: Http2Pool,
    head: string,
    body: Uint8Array,
    timeout: number,
    done: (result: OtlpSendResult) => void,
  ) {
    this.#pool = pool
    this.#head = head
    this.#body = body
    this.#timeout = timeout
    this.#done = done
    this.#deadline = setTimeout(() => this.#giveUp(`no response within ${timeout} ms`), timeout)
    this.#deadline.unref()
  }

  start(): void {
    const free = this.#pool.take()
    if (free === undefined) this.#pool.request(this)
    else this.connected(free)
  }

  connected(connection: UpstreamConnection): void {
    if (this.#done === undefined) {
      connection.release()
      return
    }
    this.#connection = connection
    const message = Buffer.alloc(PREFIX + this.#body.length)
    message.writeUInt32BE(this.#body.length, 1)
    message.set(this.#body, PREFIX)
    connection.send('POST', this.#head, true, 2 * this.#timeout, this)
    connection.write(message)
    connection.end()
  }

  unconnected(reason: string): void {
    this.#finish({ error: reason })
  }

  interim(): void {}

  response({ status, fields }: ResponseHead): boolean {
    this.#httpStatus = status
    this.#readStatus(fields)
    return false
  }

  data(bytes: Buffer): boolean {
    this.#size += bytes.length
    if (this.#size > MAX_RESPONSE) this.#giveUp('the response of the collector is too large')
    else this.#pieces.push(bytes)
    return true
  }

  ended(trailers: Fields | undefined): void {
    if (trailers !== undefined) this.#readStatus(trailers)
    const [status, grpcStatus] = [this.#httpStatus, this.#grpcStatus]
    const body = Buffer.concat(this.#pieces).subarray(PREFIX)
    if (grpcStatus === undefined && status === 200)
      this.#finish({ error: 'the collector sent no gRPC status' })
    else this.#finish({ status: statusOf(status, grpcStatus), retryAfter: undefined, body })
  }

  failed(reason: string): void {
    this.#finish({ error: reason })
  }

  drained(): void {}

  #readStatus(fields: Fields): void {
    this.#grpcStatus = joinedValue(fields, 'grpc-status') ?? this.#grpcStatus
  }

  #giveUp(error: string): void {
    this.#finish({ error })
    this.#pool.cancel(this)
    this.#connection?.abort()
  }

  #finish(result: OtlpSendResult): void {
    const done = this.#done
    this.#done = undefined
    clearTimeout(this.#deadline)
    done?.(result)
  }
}

/** A proxy in between may have responded without gRPC. */
function statusOf(httpStatus: number, grpcStatus: string | undefined): number {
  if (grpcStatus === undefined) return httpStatus
  if (grpcStatus === '0') return 200
  return RETRIED.includes(grpcStatus) ? 503 : 400
}
