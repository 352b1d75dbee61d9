import {
  createServer,
  Agent as HttpAgent,
  type IncomingMessage,
  request as requestHttp,
  type Server,
  type ServerResponse,
} from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import type { Readable, Writable } from 'node:stream'
import { fill, PatternReader, randomOf } from './patterns.ts'

/** One request whose body and response body encode the position of each byte. */
export interface Transfer {
  readonly seed: number
  /** Bytes of the request; `down` is for the response. */
  readonly up: number
  readonly down: number
  /** Without a content length: chunked, or as HTTP/2 frames. */
  readonly isOpenEnded: boolean
  /** How slowly both sides read; 0: as fast as they can. */
  readonly idleness: number
}

/** The fault, or undefined if every byte was right. */
export type Outcome = string | undefined

const MAX_PIECE = 200_000
/** From this idleness on, a reader starts late. */
export const LATE = 20

/** Writes the pattern in chunks of all sizes, waits for drain, and ends after `beforeEnd`. */
async function send(
  to: Writable,
  seed: number,
  length: number,
  beforeEnd?: Promise<unknown>,
): Promise<void> {
  const random = randomOf(seed)
  for (let at = 0; at < length; ) {
    const size = Math.min(length - at, 1 + random(random(4) === 0 ? MAX_PIECE : 9_000))
    if (!to.write(fill(seed, at, size))) {
      await drained(to)
    }
    at += size
  }
  await beforeEnd
  to.end()
}

/** Resolves on drain or close. */
function drained(to: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      to.off('drain', done)
      to.off('close', done)
      resolve()
    }
    to.on('drain', done)
    to.on('close', done)
  })
}

/** Reads the pattern with pauses, so that all buffers before it fill up. */
function receive(from: Readable, seed: number, idleness: number): Promise<PatternReader> {
  const reader = new PatternReader(seed)
  const random = randomOf(seed + 1)
  const rest = (milliseconds: number) => {
    from.pause()
    setTimeout(() => from.resume(), milliseconds)
  }
  return new Promise((resolve, reject) => {
    from.on('data', (bytes: Buffer) => {
      reader.take(bytes)
      if (idleness > 0 && random(idleness) === 0) rest(random(12))
    })
    from.on('end', () => resolve(reader))
    from.on('error', reject)
    from.on('close', () => reject(new Error(`closed after ${reader.received} bytes`)))
    // Late enough for the sender to fill the socket buffers on the path.
    if (idleness > 0) rest(idleness < LATE ? random(200) : 1_500)
  })
}

function faultOf(reader: PatternReader, length: number, what: string): Outcome {
  if (reader.wrongAt >= 0) return `${what}: byte ${reader.wrongAt} of ${length} is wrong`
  return reader.received === length ? undefined : `${what}: ${reader.received} of ${length} bytes`
}

/**
 * Compares the received body and sends the requested pattern, one after the other or both at once.
 */
export function startPatternBackend(): Server {
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const { searchParams } = new URL(request.url ?? '/', 'http://localhost')
    const [seed, up, down, idleness] = ['seed', 'up', 'down', 'idleness'].map((name) =>
      Number(searchParams.get(name)),
    ) as [number, number, number, number]
    const isOpenEnded = searchParams.get('open') === 'true'
    const received = receive(request, seed, idleness)
    // A complete response may end the request, so only one without a length starts early.
    if (isOpenEnded && seed % 2 === 1) {
      response.writeHead(200)
      await send(response, seed + 7, down, received)
      const late = faultOf(await received, up, 'upload')
      if (late !== undefined) FAULTS.push(late)
      return
    }
    const fault = faultOf(await received, up, 'upload')
    if (fault !== undefined) {
      response.writeHead(500, { 'x-fault': fault }).end()
      return
    }
    response.writeHead(200, isOpenEnded ? {} : { 'content-length': down })
    await send(response, seed + 7, down)
  }
  return createServer((request, response) => {
    serve(request, response).catch((error: Error) => {
      FAULTS.push(`backend: ${error.message}`)
      response.destroy()
    })
  })
}

/** Faults that backends found after their response had started. */
export const FAULTS: string[] = []

function pathOf({ seed, up, down, isOpenEnded, idleness }: Transfer): string {
  return `/?seed=${seed}&up=${up}&down=${down}&open=${isOpenEnded}&idleness=${idleness}`
}

export type Client = (transfer: Transfer) => Promise<Outcome>

/** HTTP/1.1 on pooled connections, in cleartext or over TLS. */
export function http1Client(port: number, isSecured: boolean): Client {
  const kept = { keepAlive: true, maxSockets: 6 }
  const agent = isSecured
    ? new HttpsAgent({ ...kept, rejectUnauthorized: false })
    : new HttpAgent(kept)
  const request = isSecured ? requestHttps : requestHttp
  return (transfer) =>
    new Promise((resolve) => {
      const { seed, up, down, isOpenEnded, idleness } = transfer
      const headers = isOpenEnded ? {} : { 'content-length': up }
      const own = request({
        port,
        host: '127.0.0.1',
        agent,
        method: 'POST',
        path: pathOf(transfer),
        headers,
      })
      own.on('error', (error) => resolve(`client: ${error.message}`))
      own.on('response', (response) => {
        if (response.statusCode !== 200) {
          resolve(`${response.statusCode} ${response.headers['x-fault'] ?? ''}`)
          response.resume()
          return
        }
        receive(response, seed + 7, idleness).then(
          (reader) => resolve(faultOf(reader, down, 'download')),
          (error: Error) => resolve(`download: ${error.message}`),
        )
      })
      send(own, seed, up).catch((error: Error) => resolve(`upload: ${error.message}`))
    })
}

/** HTTP/2 on one connection, over TLS or with prior knowledge. */
export function http2Client(port: number, isSecured: boolean): Client & { close(): void } {
  const session = connectHttp2(`${isSecured ? 'https' : 'http'}://127.0.0.1:${port}`, {
    rejectUnauthorized: false,
  })
  session.on('error', () => {})
  const client = (transfer: Transfer): Promise<Outcome> =>
    new Promise((resolve) => {
      const { seed, up, down, isOpenEnded, idleness } = transfer
      const length = isOpenEnded ? {} : { 'content-length': up }
      const stream = session.request({ ':method': 'POST', ':path': pathOf(transfer), ...length })
      stream.on('error', (error) => resolve(`stream: ${error.message}`))
      stream.on('response', (headers) => {
        if (headers[':status'] !== 200) {
          resolve(`${headers[':status']} ${headers['x-fault'] ?? ''}`)
          stream.close()
          return
        }
        receive(stream, seed + 7, idleness).then(
          (reader) => resolve(faultOf(reader, down, 'download')),
          (error: Error) => resolve(`download: ${error.message}`),
        )
      })
      send(stream, seed, up).catch((error: Error) => resolve(`upload: ${error.message}`))
    })
  return Object.assign(client, { close: () => session.close() })
}
