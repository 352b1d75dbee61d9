// HOT PATH: one client's requests, one after the other, and their answers. Guarded by bench/proxy.ts.
// Liberties: the head, the body reader and the connection itself are one object for all requests.

import type { Socket } from 'node:net'
import type { Deadlines, Timed } from '../deadlines.ts'
import type { BodySink } from '../streams.ts'
import { BodyReader, beginBody, readBody, trailersOf } from './body.ts'
import { CHUNK_END, chunkHead, LAST_CHUNK, renderTrailers } from './chunked.ts'
import { type FieldLines, type NameSet, NO_LINES } from './field-lines.ts'
import type { Fields } from './fields.ts'
import { RequestHead, readRequestHead } from './head.ts'
import type { HeadLimits } from './message.ts'
import { type Refusal, refusalOf } from './refusals.ts'
import type { ResponseHead } from './response-head.ts'
import { dateLine, renderReplyHead, renderResponseHead } from './write.ts'

export interface ServerLimits extends HeadLimits {
  /** Milliseconds to wait for a request to begin, and for its head and each part of its body. */
  readonly idle: number
  readonly headTimeout: number
  readonly bodyTimeout: number
  /** Milliseconds that a client may take none of its answer. */
  readonly writeTimeout: number
}

/** What the connection tells; it has one exchange at a time. */
export interface ServerEvents {
  request(connection: ServerConnection): void
  /** Bytes that are no request: the answer is written already. */
  refused(connection: ServerConnection, refusal: Refusal): void
  /** The client went away while its exchange was under way. */
  aborted(connection: ServerConnection, reason: string): void
  /** The client takes more of the answer again. */
  drained(connection: ServerConnection): void
  /** The answer and the request are whole. */
  finished(connection: ServerConnection): void
  closed(connection: ServerConnection): void
}

const NOTHING = Buffer.alloc(0)
/** Up to this much of a body is copied behind its head, to leave in one write. */
const SHORT_BODY = 16_384

type Phase = 'idle' | 'head' | 'exchange' | 'tunnel' | 'closed'

export class ServerConnection implements Timed {
  readonly socket: Socket
  readonly head: RequestHead = new RequestHead()
  readonly body: BodyReader = new BodyReader()
  deadline = Number.POSITIVE_INFINITY
  /** Whatever the exchange under way is to its owner. */
  exchange: unknown = undefined
  /** Set where no further request is wanted: the next answer says so. */
  isDraining = false
  bytesSent = 0
  readonly #events: ServerEvents
  readonly #limits: ServerLimits
  readonly #deadlines: Deadlines
  #phase: Phase = 'idle'
  #held: Buffer = NOTHING
  #sink: BodySink | undefined = undefined
  #isPaused = false
  #isAnswered = false
  #isResponding = false
  #isReading = false
  #ended = false
  #keepsAlive = true
  #bodyChunks = false
  #headText = ''
  #hasBody = true

  constructor(socket: Socket, limits: ServerLimits, deadlines: Deadlines, events: ServerEvents) {
    this.socket = socket
    this.#limits = limits
    this.#deadlines = deadlines
    this.#events = events
    this.deadline = performance.now() + limits.headTimeout
    deadlines.add(this)
    socket.on('data', (bytes: Buffer) => this.#receive(bytes))
    socket.on('end', () => this.#onEnd())
    socket.on('drain', () => this.#onDrain())
    socket.on('error', () => this.#onClose('reset'))
    socket.on('close', () => this.#onClose('closed'))
  }

  get isIdle(): boolean {
    return this.#phase === 'idle'
  }

  /** Whether an answer was begun: then it can be cut short, but not replaced. */
  get isResponding(): boolean {
    return this.#isResponding
  }

  /** Delivers the body to `sink`, first what was already received. */
  readBody(sink: BodySink, asWire: boolean): void {
    const { head, body } = this
    beginBody(body, head.framing, head.length, asWire)
    this.#sink = sink
    if (body.isDone) {
      sink.end(undefined)
      return
    }
    if (head.expectContinue && !this.#isResponding)
      this.socket.write('HTTP/1.1 100 Continue\r\n\r\n', 'latin1')
    this.deadline = performance.now() + this.#limits.bodyTimeout
    this.resumeBody()
  }

  pauseBody(): void {
    this.#isPaused = true
  }

  resumeBody(): void {
    this.#isPaused = false
    if (this.#isReading) return
    const held = this.#held
    this.#held = NOTHING
    if (held.length > 0) this.#advance(held, 0)
    if (!this.#isPaused && this.#phase !== 'closed') this.socket.resume()
  }

  /** An interim answer of the upstream's, such as 103. */
  interim(head: ResponseHead, dropped: NameSet): void {
    if (this.head.minor === 0) return
    const date = NO_LINES
    const text = renderResponseHead(head, {
      framing: 'none',
      length: -1,
      lines: NO_LINES,
      upgrade: '',
      connection: '',
      date,
      dropped,
    })
    if (text !== '') this.socket.write(text, 'latin1')
  }

  /** The head of the upstream's answer; it is sent with the first octets of the body. */
  respond(head: ResponseHead, dropped: NameSet, lines: FieldLines): boolean {
    const { framing } = head
    const isOld = this.head.minor === 0
    const isOpenEnded = framing === 'chunked' || framing === 'close'
    this.#bodyChunks = isOpenEnded && !isOld
    if (isOpenEnded && isOld) this.#keepsAlive = false
    this.#headText = renderResponseHead(head, {
      framing: this.#bodyChunks ? 'chunked' : framing === 'length' ? 'length' : 'none',
      length: isOpenEnded ? -1 : head.length,
      lines,
      upgrade: '',
      connection: this.#connectionField(),
      date: dateLine(Date.now()),
      dropped,
    })
    this.#isResponding = true
    this.#hasBody = framing !== 'none'
    return this.#headText !== ''
  }

  /** The head of an answer of our own, and its body whole. */
  reply(status: number, lines: FieldLines, body: Buffer | string): void {
    const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : body
    const isEmpty = status === 204 || status === 304 || status < 200
    // What the client still sends of a request that was refused is not worth waiting for.
    if (!this.body.isDone && this.#sink === undefined && this.head.framing !== 'none')
      this.#keepsAlive = false
    const head = renderReplyHead(status, {
      framing: isEmpty ? 'none' : bytes.length > 0 ? 'length' : 'none',
      length: isEmpty ? -1 : bytes.length,
      lines,
      upgrade: '',
      connection: this.#connectionField(),
      date: dateLine(Date.now()),
    })
    this.#isResponding = true
    this.#bodyChunks = false
    this.#headText = head
    this.#hasBody = this.head.method !== 'HEAD' && !isEmpty
    if (this.#hasBody && bytes.length > 0) this.write(bytes)
    this.end(undefined)
  }

  /** Octets of the answer; with `asWire` they have their chunk framing. False: wait for drained. */
  write(bytes: Buffer, asWire = false): boolean {
    if (this.#phase === 'closed' || bytes.length === 0) return true
    this.bytesSent += bytes.length
    this.deadline = performance.now() + this.#limits.writeTimeout
    if (this.#bodyChunks && !asWire) {
      this.#flush(chunkHead(bytes.length))
      this.socket.write(bytes)
      return this.socket.write(CHUNK_END, 'latin1')
    }
    const head = this.#headText
    if (head === '') return this.socket.write(bytes)
    this.#headText = ''
    if (bytes.length > SHORT_BODY) {
      this.socket.cork()
      this.socket.write(head, 'latin1')
      const more = this.socket.write(bytes)
      this.socket.uncork()
      return more
    }
    const both = Buffer.allocUnsafe(head.length + bytes.length)
    both.write(head, 0, 'latin1')
    bytes.copy(both, head.length)
    return this.socket.write(both)
  }

  /** The answer is whole. With `asWire` its last chunk was written, but for trailers. */
  end(trailers: Fields | undefined, asWire = false): void {
    if (this.#phase === 'closed' || this.#isAnswered) return
    let last = ''
    if (this.#bodyChunks && this.#hasBody) {
      if (trailers !== undefined) last = `${asWire ? '' : '0\r\n'}${renderTrailers(trailers)}`
      else if (!asWire) last = LAST_CHUNK
    }
    if (this.#headText !== '' || last !== '') this.#flush(last)
    this.#isAnswered = true
    this.#maybeNext()
  }

  /** Cuts the answer short, so that the client sees that it is not whole. */
  abort(): void {
    this.socket.destroy()
    this.#onClose('aborted')
  }

  /** After 101: octets go both ways as they are. Answers what the client sent already. */
  tunnel(head: ResponseHead, upgrade: string, dropped: NameSet, sink: BodySink): boolean {
    const text = renderResponseHead(head, {
      framing: 'none',
      length: -1,
      lines: NO_LINES,
      upgrade,
      connection: '',
      date: NO_LINES,
      dropped,
    })
    if (text === '') return false
    this.#phase = 'tunnel'
    this.#isResponding = true
    this.deadline = Number.POSITIVE_INFINITY
    this.#sink = sink
    this.socket.write(text, 'latin1')
    this.resumeBody()
    return true
  }

  writeTunnel(bytes: Buffer): boolean {
    this.bytesSent += bytes.length
    return this.socket.write(bytes)
  }

  /** Closes as soon as nothing is under way. */
  drain(): void {
    this.isDraining = true
    if (this.#phase === 'idle') this.socket.end()
  }

  expire(): void {
    const wasIdle = this.#phase === 'idle'
    if (this.#phase === 'head') this.#refuse({ word: 'head-too-large', status: 408 })
    else if (!wasIdle && !this.#isResponding && !this.body.isDone) this.#sink?.abort('timeout')
    this.socket.destroy()
    this.#onClose(wasIdle ? 'idle' : 'timeout')
  }

  #connectionField(): '' | 'close' | 'keep-alive' {
    this.#keepsAlive &&= this.head.keepAlive && !this.isDraining && !this.#ended
    if (!this.#keepsAlive) return 'close'
    return this.head.minor === 0 ? 'keep-alive' : ''
  }

  #flush(more: string): void {
    const text = this.#headText + more
    this.#headText = ''
    this.socket.write(text, 'latin1')
  }

  #receive(bytes: Buffer): void {
    const held = this.#held
    this.#held = NOTHING
    this.#advance(held.length === 0 ? bytes : Buffer.concat([held, bytes]), 0)
  }

  /** Goes on with what was received until something has to be waited for. */
  #advance(bytes: Buffer, from: number): void {
    this.#isReading = true
    let at = from
    const end = bytes.length
    while (at < end && this.#phase !== 'closed') {
      if (this.#phase === 'tunnel') {
        if (this.#sink?.write(at === 0 ? bytes : bytes.subarray(at)) === false) this.#pause()
        at = end
        break
      }
      if (this.#phase !== 'exchange') {
        const next = readRequestHead(bytes, at, end, this.#limits, this.head)
        if (next === 0) {
          if (this.#phase === 'idle') {
            this.#phase = 'head'
            this.deadline = performance.now() + this.#limits.headTimeout
          }
          break
        }
        if (next < 0) {
          this.#refuse(refusalOf(next))
          break
        }
        at = next
        this.#begin()
        continue
      }
      if (this.body.isDone || this.#sink === undefined || this.#isPaused) {
        this.#pause()
        break
      }
      at = this.#readBody(bytes, at, end)
      if (at < 0) break
    }
    if (at >= 0 && at < end && this.#phase !== 'closed')
      this.#held = at === 0 ? bytes : bytes.subarray(at)
    this.#isReading = false
  }

  #begin(): void {
    this.#phase = 'exchange'
    this.#isAnswered = false
    this.#isResponding = false
    this.#isPaused = false
    this.#keepsAlive = true
    this.#sink = undefined
    this.bytesSent = 0
    this.deadline = Number.POSITIVE_INFINITY
    this.body.isDone = this.head.framing === 'none'
    this.#events.request(this)
  }

  #readBody(bytes: Buffer, at: number, end: number): number {
    const { body } = this
    const next = readBody(body, bytes, at, end)
    if (next < 0) {
      const refusal = refusalOf(next)
      this.#sink?.abort(refusal.word)
      if (!this.#isResponding) this.#refuse(refusal)
      else this.abort()
      return -1
    }
    if (body.to > body.from) {
      this.deadline = performance.now() + this.#limits.bodyTimeout
      const whole = body.from === 0 && body.to === bytes.length
      if (this.#sink?.write(whole ? bytes : bytes.subarray(body.from, body.to)) === false)
        this.#isPaused = true
    }
    if (body.isDone) {
      this.deadline = Number.POSITIVE_INFINITY
      this.#sink?.end(trailersOf(body))
      this.#maybeNext()
    }
    return next
  }

  #pause(): void {
    this.socket.pause()
  }

  #maybeNext(): void {
    if (!this.#isAnswered || this.#phase !== 'exchange') return
    const isWhole = this.body.isDone
    if (!isWhole && this.#keepsAlive && this.#sink !== undefined) return
    this.#phase = 'idle'
    this.#events.finished(this)
    this.exchange = undefined
    this.#sink = undefined
    if (!this.#keepsAlive || !isWhole || this.#ended || this.isDraining) {
      this.#linger()
      return
    }
    this.deadline = performance.now() + this.#limits.idle
    if (this.#isReading) return
    const held = this.#held
    this.#held = NOTHING
    if (held.length > 0) this.#advance(held, 0)
    this.socket.resume()
  }

  /** Says goodbye, and reads on for a moment so that a reset does not take the answer back. */
  #linger(): void {
    this.#phase = 'closed'
    this.socket.end()
    this.socket.resume()
    this.deadline = performance.now() + 2_000
  }

  #refuse(refusal: Refusal): void {
    this.#keepsAlive = false
    this.head.keepAlive = false
    this.head.method = ''
    this.body.isDone = true
    this.#phase = 'exchange'
    this.#isAnswered = false
    this.reply(refusal.status, NO_LINES, '')
    this.#events.refused(this, refusal)
  }

  #onDrain(): void {
    this.deadline = Number.POSITIVE_INFINITY
    this.#events.drained(this)
  }

  #onEnd(): void {
    this.#ended = true
    if (this.#phase === 'tunnel') this.#sink?.end(undefined)
    else if (this.#phase === 'exchange' && !this.body.isDone && this.#sink !== undefined) {
      this.#sink.abort('truncated-body')
      this.abort()
    } else if (this.#phase !== 'exchange') this.socket.end()
  }

  #onClose(reason: string): void {
    if (this.deadline === Number.NEGATIVE_INFINITY) return
    this.deadline = Number.NEGATIVE_INFINITY
    this.#deadlines.remove(this)
    const wasUnderWay = this.#phase === 'exchange' || this.#phase === 'tunnel'
    this.#phase = 'closed'
    this.#held = NOTHING
    if (wasUnderWay) {
      this.#sink?.abort(reason)
      this.#events.aborted(this, reason)
    }
    this.#events.closed(this)
  }
}
