import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { duplexPair } from 'node:stream'
import { after } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { Deadlines } from '../../src/wire/deadlines.ts'
import { type Fields, fieldName, fieldValue } from '../../src/wire/http1/fields.ts'
import { ClientSession } from '../../src/wire/http2/client.ts'
import { SESSION_OPTIONS, type SessionOptions } from '../../src/wire/http2/client-limits.ts'
import type { ClientStream } from '../../src/wire/http2/client-stream.ts'
import type { Http2Count } from '../../src/wire/http2/limits.ts'
import type { ResponseEvents } from '../../src/wire/upstream-connection.ts'
import { readServed, type Served } from '../fuzz/http2-served.ts'
import { frame } from './http2-gateway.ts'

export const [PRIORITY, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION] = [
  2, 4, 5, 6, 7, 8, 9,
]
export const NO_SETTINGS: Buffer = frame(SETTINGS, 0, 0, Buffer.alloc(0))

/** Encodes values as 32-bit big-endian integers. */
export const words = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 4)
  values.forEach((value, i) => void bytes.writeUInt32BE(value, i * 4))
  return bytes
}

/** Opens upstreams that have sent their preface, and closes them after the tests of a file. */
export function greetedUpstreams() {
  const opened: ScriptedUpstream[] = []
  after(() => opened.forEach((own) => void own.close()))
  return async (
    options: Partial<SessionOptions> = {},
    settings = NO_SETTINGS,
  ): Promise<ScriptedUpstream> => {
    const upstream = new ScriptedUpstream(options)
    opened.push(upstream)
    await upstream.say(settings)
    assert.ok(upstream.isReady)
    return upstream
  }
}

export interface Asked {
  /** Events of the response in order; consecutive data are merged. */
  readonly reported: string[]
  readonly stream: ClientStream
}

/** A frame that the client sent. */
export interface Sent {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

/** A connection to an upstream that sends exactly the given bytes. */
export class ScriptedUpstream {
  readonly session: ClientSession
  readonly counts: Http2Count[] = []
  readonly #peer: NodeJS.ReadWriteStream & { destroy(): void }
  #received: Buffer = Buffer.alloc(0)
  closed = ''
  isReady = false

  constructor(options: Partial<SessionOptions> = {}) {
    const [ours, theirs] = duplexPair()
    this.#peer = theirs
    theirs.on('error', () => {})
    theirs.on('data', (bytes: Buffer) => {
      this.#received = Buffer.concat([this.#received, bytes])
    })
    this.session = new ClientSession(
      ours as Socket,
      { ...SESSION_OPTIONS, ...options },
      new Deadlines(10_000),
      {
        ready: () => {
          this.isReady = true
        },
        freed: () => {},
        closed: (_, reason) => {
          this.closed = reason
        },
      },
      { counted: (what) => void this.counts.push(what) },
    )
  }

  /** Sends bytes, in chunks of `length`, and waits until they were read. */
  async say(bytes: Buffer, length = bytes.length): Promise<void> {
    for (let at = 0; at < bytes.length; at += length) {
      this.#peer.write(Buffer.from(bytes.subarray(at, at + length)))
      await turn()
    }
    for (let i = 0; i < 4; i++) await turn()
  }

  /** Sends a request, which requires the upstream's settings first. */
  ask(head = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n', hasBody = false, takes = () => true): Asked {
    const reported: string[] = []
    const stream = this.session.open()
    const method = head.slice(0, head.indexOf(' '))
    stream.send(method, head, hasBody, 60_000, reporter(reported, takes))
    return { reported, stream }
  }

  /** All frames after the preface. */
  get sent(): readonly Sent[] {
    const bytes = this.#received.subarray(24)
    const frames: Sent[] = []
    for (let at = 0; at + 9 <= bytes.length; ) {
      const length = bytes.readUIntBE(at, 3)
      const payload = bytes.subarray(at + 9, at + 9 + length)
      const stream = bytes.readUInt32BE(at + 5)
      frames.push({ type: bytes[at + 3] ?? 0, flags: bytes[at + 4] ?? 0, stream, payload })
      at += 9 + length
    }
    return frames
  }

  /** The same frames, as their peer reads them. */
  get served(): Served {
    return readServed(this.#received.subarray(24))
  }

  /** Codes of RST_STREAM, or of GOAWAY. */
  codes(type: 3 | 7): readonly number[] {
    const own = this.sent.filter((sent) => sent.type === type)
    return own.map(({ payload }) => payload.readUInt32BE(type === 3 ? 0 : 4))
  }

  close(): void {
    this.session.destroy('closed')
    this.#peer.destroy()
  }
}

function reporter(reported: string[], takes: () => boolean): ResponseEvents {
  return {
    idleTimeout: 60_000,
    interim: ({ status }) => void reported.push(`interim ${status}`),
    response: ({ status, fields }) => {
      reported.push([status, ...linesOf(fields)].join(' '))
      return false
    },
    data: (bytes) => {
      const last = reported.at(-1) ?? ''
      if (last.startsWith('data ')) reported[reported.length - 1] = last + bytes
      else reported.push(`data ${bytes}`)
      return takes()
    },
    ended: (trailers) =>
      void reported.push(['ended', ...(trailers ? linesOf(trailers) : [])].join(' ')),
    failed: (reason, isUntouched) =>
      void reported.push(`failed ${reason}${isUntouched ? ' untouched' : ''}`),
    drained: () => void reported.push('drained'),
  }
}

function linesOf(fields: Fields): readonly string[] {
  return Array.from(
    { length: fields.count },
    (_, i) => `${fieldName(fields, i)}=${fieldValue(fields, i)}`,
  )
}
