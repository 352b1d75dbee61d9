import { createServer as createHttp1, type IncomingMessage } from 'node:http'
import { createServer as createHttp2, type Http2ServerRequest } from 'node:http2'
import type { Server, Socket } from 'node:net'
import { listen } from '../proxy/harness.ts'
import { PatternReader, randomOf } from './patterns.ts'

/** One upload, and the side that aborts it. */
export interface Upload {
  readonly id: number
  readonly seed: number
  readonly length: number
  /** Without a content length: chunked, or as HTTP/2 frames. */
  readonly isOpenEnded: boolean
  /** Approximate number of bytes that the client writes at a time. */
  readonly piece: number
  /** Bytes after which the client aborts; -1: never. */
  readonly cutAt: number
  /** Bytes after which the backend closes the connection; -1: never. */
  readonly closesAt: number
  /** Bytes after which the backend responds; -1: after all of them. */
  readonly repliesAt: number
  /** How slowly the backend reads; 0: as fast as it can. */
  readonly idleness: number
}

export interface UploadBackend {
  readonly port: number
  close(): void
}

export interface BackendEvents {
  /** Called on progress. */
  moved(bytes: number): void
  /** Called for a fault, which fails the test. */
  wrong(fault: string): void
}

/** Compares each byte of each upload with the expected pattern, over HTTP/1.1 or HTTP/2. */
export async function startUploadBackend(
  uploads: readonly Upload[],
  version: 'h1' | 'h2',
  events: BackendEvents,
): Promise<UploadBackend> {
  const serve = (request: IncomingMessage | Http2ServerRequest, respond: (body: string) => void) =>
    receive(uploads[Number(request.url?.split('/').at(-1))] as Upload, request, respond, events)
  const server: Server =
    version === 'h1'
      ? createHttp1((request, response) => {
          response.on('error', () => {})
          serve(request, (body) => response.end(body))
        })
      : createHttp2((request, response) => {
          response.on('error', () => {})
          serve(request, (body) => response.end(body))
        })
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('sessionError', () => {})
  const port = await listen(server)
  const close = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  return { port, close }
}

function receive(
  upload: Upload,
  request: IncomingMessage | Http2ServerRequest,
  respond: (body: string) => void,
  events: BackendEvents,
): void {
  const { id, seed, length, closesAt, repliesAt, idleness } = upload
  const reader = new PatternReader(seed)
  const random = randomOf(seed + 1)
  const name = `upload ${id}`
  let hasReplied = false
  const reply = () => {
    if (hasReplied) return
    hasReplied = true
    respond(`${id} ${reader.received}`)
  }
  request.on('error', () => {})
  request.on('data', (bytes: Buffer) => {
    reader.take(bytes)
    events.moved(bytes.length)
    if (reader.wrongAt >= 0) events.wrong(`${name}: byte ${reader.wrongAt} is wrong`)
    if (closesAt >= 0 && reader.received >= closesAt) {
      // With HTTP/2 only the stream, since the connection carries others.
      if ('stream' in request) request.stream.close(2)
      else request.socket.destroy()
    } else if (repliesAt >= 0 && reader.received >= repliesAt) reply()
    if (idleness === 0 || random(idleness) > 0) return
    request.pause()
    setTimeout(() => request.resume(), random(8))
  })
  request.on('end', () => {
    events.moved(1)
    // The backend need not read further after a response, and an HTTP/2 reset is an abort as well.
    const isCut = 'stream' in request ? request.stream.rstCode !== 0 : !request.complete
    if (hasReplied || isCut || request.errored !== null) return
    // An aborted upload must not look complete.
    if (reader.received !== length)
      events.wrong(`${name}: ended after ${reader.received} of ${length} bytes`)
    reply()
  })
}
