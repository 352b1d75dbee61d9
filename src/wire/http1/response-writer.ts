// HOT PATH: writes a response to the client, the head in one write with the first bytes of the
// body. Guarded by bench/proxy.ts. Liberties: one object for all responses of a connection.

import { Buffer } from 'node:buffer'
import type { Socket } from 'node:net'
import type { Timed } from '../deadlines.ts'
import { eventDate } from '../event-clock.ts'
import { latin1Text } from '../latin1.ts'
import { ShortWrites } from '../short-writes.ts'
import { type Leaving, turnWrites } from '../turn-writes.ts'
import { CHUNK_END, chunkHead, LAST_CHUNK, renderTrailers } from './chunked.ts'
import { closeGracefully } from './close-grace.ts'
import { type FieldLines, type NameSet, NO_LINES } from './field-lines.ts'
import { DATE } from './field-names.ts'
import { type Fields, firstOf } from './fields.ts'
import type { RequestHead } from './head.ts'
import { lowerLines, lowerNames } from './lower-names.ts'
import type { ResponseHead } from './response-head.ts'
import { dateLine, type OutgoingResponse, renderReplyHead, renderResponseHead } from './write.ts'

/** Max bytes of a body that are copied after its head. */
const SHORT_BODY = 16_384
/** Max bytes of a body that are cheaper to write as a string. */
const TEXT_BODY = 1_024
/** Max bytes of a response that are deferred to the end of the turn. */
const MAX_DEFERRED = 2 * SHORT_BODY

export type ConnectionField = '' | 'close' | 'keep-alive'

export class ResponseWriter implements Leaving {
  isBegun = false
  bytesSent = 0
  readonly #socket: Socket
  readonly #writes: ShortWrites
  readonly #lowersNames: boolean
  /** Rendered, but not written yet. */
  #head = ''
  #isChunked = false
  #hasBody = true
  /** The body ends with the connection, as for HTTP/1.0. */
  #isOpenEnded = false
  /** Head and body of a short response, written at the end of this turn of the event loop. */
  #deferred: Buffer | string = ''
  /** Whether the socket got uncopied bytes that it may still need. */
  #isLent = false

  /** `lowersNames`: write header names in lower case, regardless of their received case. */
  constructor(socket: Socket, lowersNames: boolean) {
    this.#socket = socket
    this.#writes = new ShortWrites(socket)
    this.#lowersNames = lowersNames
  }

  /** The socket, after all deferred bytes have been written to it. */
  get settled(): Socket {
    if (this.#deferred !== '') this.leave()
    return this.#socket
  }

  /** Ends the connection; a body delimited by the connection must not look complete. */
  cut(): void {
    const socket = this.settled
    const isWhole = !this.isBegun || !this.#isOpenEnded
    // Over TLS, a missing close_notify alert shows that the body is incomplete.
    if (isWhole || 'encrypted' in socket || socket.remoteAddress === undefined) socket.destroy()
    else socket.resetAndDestroy()
  }

  /** Whether the client has part of the response, so that it cannot be replaced. */
  get isSent(): boolean {
    return this.isBegun && this.#head === ''
  }

  /**
   * Whether bytes given to `write` are no longer needed: they were sent or copied. TLS never writes
   * synchronously, so checking the socket alone would cost each response a buffer.
   */
  get isWritten(): boolean {
    if (this.#isLent && this.#writes.isWritten) this.#isLent = false
    return !this.#isLent
  }

  /** Called before each request. */
  reset(): void {
    this.isBegun = false
    this.bytesSent = 0
    this.#head = ''
  }

  /** Sends an interim response of the upstream, such as 103. */
  interim(head: ResponseHead, dropped: NameSet): void {
    if (this.#lowersNames) lowerNames(head.fields)
    this.settled.write(renderResponseHead(head, { ...BARE, dropped }), 'latin1')
  }

  /**
   * Sends the head of a response that switches protocols; returns false if it cannot be written.
   */
  upgrade(head: ResponseHead, dropped: NameSet, lines: FieldLines): boolean {
    const own = { ...BARE, dropped, lines: this.#named(lines), upgrade: head.upgrade }
    if (this.#lowersNames) lowerNames(head.fields)
    const text = renderResponseHead(head, own)
    this.isBegun = true
    if (text !== '') this.settled.write(text, 'latin1')
    return text !== ''
  }

  /** Renders the head of the upstream's response; returns false if it cannot be written. */
  respond(
    head: ResponseHead,
    request: RequestHead,
    connection: ConnectionField,
    dropped: NameSet,
    lines: FieldLines,
  ): boolean {
    const { framing } = head
    const isOpenEnded = framing === 'chunked' || framing === 'close'
    this.#isChunked = isOpenEnded && request.minor === 1
    this.#isOpenEnded = isOpenEnded && !this.#isChunked
    this.#hasBody = framing !== 'none'
    if (this.#lowersNames) lowerNames(head.fields)
    this.#head = renderResponseHead(head, {
      framing: this.#isChunked ? 'chunked' : framing === 'length' ? 'length' : 'none',
      length: isOpenEnded ? -1 : head.length,
      lines: this.#named(lines),
      // RFC 9110 §15.5.22: the protocol that the client must upgrade to.
      upgrade: head.status === 426 ? head.upgrade : '',
      connection,
      // Reading the clock costs more than searching for the header.
      date: firstOf(head.fields, DATE) >= 0 ? NO_LINES : dateLine(eventDate()),
      dropped,
    })
    this.isBegun = true
    return this.#head !== ''
  }

  /** Sends a complete response of the gateway itself. */
  reply(
    status: number,
    method: string,
    connection: ConnectionField,
    lines: FieldLines,
    body: Buffer,
  ): void {
    const isBodiless = status === 204 || status === 304 || status < 200
    this.#isChunked = false
    this.#isOpenEnded = false
    this.#hasBody = method !== 'HEAD' && !isBodiless && body.length > 0
    this.#head = renderReplyHead(status, {
      framing: 'none',
      length: isBodiless ? -1 : body.length,
      lines: this.#named(lines),
      upgrade: '',
      connection,
      date: dateLine(eventDate()),
    })
    this.isBegun = true
    if (this.#hasBody) this.write(body, false, body.length)
    this.end(undefined, false)
  }

  /** Writes body bytes; with `asWire` they include their chunk framing. False: wait for drain. */
  write(bytes: Buffer, asWire: boolean, byteCount: number): boolean {
    // Bytes after a head without a body would be read as the next response.
    if (bytes.length === 0 || !this.#hasBody) return true
    this.bytesSent += byteCount
    if (this.#isChunked && !asWire) return this.#writeChunk(bytes)
    const head = this.#head
    if (head === '') return this.#lend(bytes)
    this.#head = ''
    if (bytes.length > SHORT_BODY) {
      this.settled.cork()
      this.#socket.write(head, 'latin1')
      const more = this.#lend(bytes)
      this.#socket.uncork()
      return more
    }
    if (bytes.length <= TEXT_BODY && this.#writes.takesText)
      return this.#defer(head + latin1Text(bytes, 0, bytes.length))
    const both = Buffer.allocUnsafe(head.length + bytes.length)
    both.write(head, 0, 'latin1')
    bytes.copy(both, head.length)
    return this.#defer(both)
  }

  /** Writes the deferred bytes now. */
  leave(): void {
    const bytes = this.#deferred
    if (bytes === '') return
    this.#deferred = ''
    this.#writes.write(bytes)
  }

  /** Writes bytes after a response that switched protocols. False: wait for drain. */
  writeTunnel(bytes: Buffer): boolean {
    this.bytesSent += bytes.length
    return this.#lend(bytes)
  }

  /** Ends the body. With `asWire`, its last chunk was written, except for trailers. */
  end(trailers: Fields | undefined, asWire: boolean): void {
    let last = ''
    if (this.#isChunked && this.#hasBody) {
      if (trailers !== undefined && this.#lowersNames) lowerNames(trailers)
      if (trailers !== undefined) last = `${asWire ? '' : '0\r\n'}${renderTrailers(trailers)}`
      else if (!asWire) last = LAST_CHUNK
    }
    if (this.#head !== '' || last !== '') this.#flush(last)
  }

  /** Writes the head although no body byte is available yet. */
  flush(): void {
    if (this.#head !== '') this.#flush('')
  }

  /** Closes gracefully after all written bytes. */
  close(timed: Timed, writeTimeout: number): void {
    const { settled } = this
    closeGracefully(settled, timed, writeTimeout, this.#writes.isWritten)
  }

  /** One write for a whole chunk: a stream of small pieces is mostly the cost of writing. */
  #writeChunk(bytes: Buffer): boolean {
    const head = this.#head + chunkHead(bytes.length)
    this.#head = ''
    if (bytes.length > SHORT_BODY) {
      this.settled.cork()
      this.#socket.write(head, 'latin1')
      this.#lend(bytes)
      const more = this.#socket.write(CHUNK_END, 'latin1')
      this.#socket.uncork()
      return more
    }
    const chunk = Buffer.allocUnsafe(head.length + bytes.length + CHUNK_END.length)
    chunk.write(head, 0, 'latin1')
    bytes.copy(chunk, head.length)
    chunk.write(CHUNK_END, head.length + bytes.length, 'latin1')
    if (this.#deferred !== '') this.leave()
    return this.#writes.write(chunk)
  }

  #lend(bytes: Buffer): boolean {
    if (this.#deferred !== '') this.leave()
    if (bytes.length > SHORT_BODY) {
      this.#isLent = true
      return this.#socket.write(bytes)
    }
    const more = this.#writes.write(bytes)
    this.#isLent ||= !this.#writes.isWritten
    return more
  }

  #named(lines: FieldLines): FieldLines {
    return this.#lowersNames ? lowerLines(lines) : lines
  }

  #flush(more: string): void {
    const text = this.#head + more
    this.#head = ''
    this.#defer(text)
  }

  /** If the client has not accepted everything yet, write now to detect backpressure at once. */
  #defer(bytes: Buffer | string): boolean {
    if (this.#deferred !== '') this.leave()
    this.#deferred = bytes
    if (bytes.length > MAX_DEFERRED || !this.#writes.isWritten) {
      this.leave()
      return !this.#socket.writableNeedDrain
    }
    turnWrites.add(this)
    return true
  }
}

const BARE: Omit<OutgoingResponse, 'dropped'> = {
  framing: 'none',
  length: -1,
  lines: NO_LINES,
  upgrade: '',
  connection: '',
  date: NO_LINES,
}
