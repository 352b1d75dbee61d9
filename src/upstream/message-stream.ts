import type { MessageStream, OpenStream, StreamEvents } from '../exchange/service-call.ts'
import { type Fields, joinedValue } from '../wire/http1/fields.ts'
import type { ResponseHead } from '../wire/http1/response-head.ts'
import type { ResponseEvents, UpstreamConnection } from '../wire/upstream-connection.ts'
import type { Attempt, Choice, Cluster } from './cluster.ts'
import type { Waiting } from './pool.ts'

/** Max concurrent streams to one service; further ones fail instead of waiting. */
const MAX_STREAMS = 1_024
/** One byte for the compression flag, four for the length. */
const PREFIX = 5
/** Max bytes of one message; a longer one is a failure. */
const MAX_MESSAGE = 16 << 20
/** Bytes that are kept to be sent again; a stream with more fails instead. */
const MAX_KEPT = 16_384
/** Max milliseconds that a service may be silent after everything was sent. */
const SILENCE = 60_000

/** Opens gRPC streams to the service behind a cluster, one attempt each. */
export function streamOpener(cluster: Cluster): OpenStream {
  let open = 0
  return (exchange, path, events) => {
    const choice = open >= MAX_STREAMS ? 'overloaded' : cluster.choose(exchange, [])
    if (typeof choice === 'string') {
      events.closed(choice)
      return NO_STREAM
    }
    open++
    return new Stream(choice, path, events, () => {
      open--
    })
  }
}

const NO_STREAM: MessageStream = { send() {}, end() {}, stop() {} }

class Stream implements Waiting, ResponseEvents, MessageStream {
  /** Its user limits the time for each message, and ends it with the request. */
  readonly idleTimeout: number = Number.POSITIVE_INFINITY
  readonly #choice: Choice
  readonly #path: string
  readonly #events: StreamEvents
  readonly #onOver: () => void
  readonly #startedAt = performance.now()
  #connection: UpstreamConnection | undefined
  /** Whether the connection was newly opened for this stream. */
  #isFresh = false
  /**
   * Everything to send until there is a connection, and everything sent until the service responds;
   * undefined: too much, or no longer needed.
   */
  #kept: Buffer[] | undefined = []
  #keptSize = 0
  #hasEnded = false
  #isOver = false
  #status = 0
  #grpcStatus: string | undefined
  #received: Buffer = Buffer.alloc(0)

  constructor(choice: Choice, path: string, events: StreamEvents, onOver: () => void) {
    this.#choice = choice
    this.#path = path
    this.#events = events
    this.#onOver = onOver
    const connection = choice.pool.take()
    if (connection === undefined) this.#open()
    else this.connected(connection)
  }

  send(message: Uint8Array): void {
    if (this.#isOver || this.#hasEnded) return
    const framed = Buffer.alloc(PREFIX + message.length)
    framed.writeUInt32BE(message.length, 1)
    framed.set(message, PREFIX)
    this.#keep(framed)
    this.#connection?.write(framed)
  }

  #keep(framed: Buffer): void {
    this.#keptSize += framed.length
    if (this.#connection !== undefined && this.#keptSize > MAX_KEPT) this.#kept = undefined
    this.#kept?.push(framed)
  }

  end(): void {
    if (this.#isOver || this.#hasEnded) return
    this.#hasEnded = true
    this.#connection?.end()
  }

  stop(): void {
    if (this.#isOver) return
    const connection = this.#connection
    this.#over('cancelled')
    if (connection === undefined) this.#choice.pool.cancel(this)
    else connection.abort()
  }

  connected(connection: UpstreamConnection): void {
    if (this.#isOver) {
      connection.release()
      return
    }
    const { host: own, endpoint } = this.#choice
    const host = own || (endpoint.startsWith('unix:') ? 'localhost' : endpoint)
    const head =
      `POST ${this.#path} HTTP/1.1\r\nhost: ${host}\r\n` +
      'content-type: application/grpc\r\nte: trailers\r\n\r\n'
    this.#connection = connection
    connection.send('POST', head, true, SILENCE, this)
    for (const framed of this.#kept ?? []) connection.write(framed)
    if (this.#hasEnded) connection.end()
  }

  unconnected(reason: string): void {
    this.#close(reason, 'connect-failed')
  }

  interim(): void {}

  response({ status, fields }: ResponseHead): boolean {
    this.#status = status
    this.#grpcStatus = joinedValue(fields, 'grpc-status')
    return false
  }

  data(bytes: Buffer): boolean {
    if (this.#isOver) return true
    if (this.#status !== 200) return true
    this.#kept = undefined
    this.#received = Buffer.concat([this.#received, bytes])
    while (!this.#isOver && this.#received.length >= PREFIX) {
      const length = this.#received.readUInt32BE(1)
      if (this.#received[0] !== 0 || length > MAX_MESSAGE) {
        this.#close('not a gRPC message', 'cancelled')
        this.#connection?.abort()
        return true
      }
      if (this.#received.length < PREFIX + length) break
      const message = this.#received.subarray(PREFIX, PREFIX + length)
      this.#received = this.#received.subarray(PREFIX + length)
      this.#events.message(message)
    }
    return true
  }

  ended(trailers: Fields | undefined): void {
    const own = trailers && joinedValue(trailers, 'grpc-status')
    const status = own ?? this.#grpcStatus
    const reason =
      this.#status === 200 ? `gRPC status ${status ?? 'absent'}` : `status ${this.#status}`
    this.#close(reason, 'responded')
  }

  failed(reason: string, isUntouched: boolean): void {
    this.#connection = undefined
    if (this.#isOver) return
    // The service may close an idle connection at the moment it is reused.
    if (isUntouched && !this.#isFresh && this.#kept !== undefined) this.#open()
    else this.#close(reason, reason === 'timeout' ? 'timeout' : 'reset')
  }

  drained(): void {}

  #open(): void {
    this.#isFresh = true
    this.#choice.pool.request(this)
  }

  #close(reason: string, outcome: Attempt['outcome']): void {
    if (this.#isOver) return
    this.#over(outcome)
    this.#events.closed(reason)
  }

  #over(outcome: Attempt['outcome']): void {
    this.#isOver = true
    this.#kept = undefined
    this.#onOver()
    const duration = performance.now() - this.#startedAt
    this.#choice.done({ outcome, status: this.#status, duration })
  }
}
