import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import {
  type ClientHttp2Session,
  connect,
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2'
import type { Server } from 'node:net'
import { listen } from './harness.ts'
import type { Version } from './http2-gateway.ts'

export type Handler = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse & Http2ServerResponse,
) => void

export interface Peer {
  readonly port: number
  readonly close: () => void
}

/** A server of either version, so that tests can call both in the same way. */
export async function startPeer(version: Version, handler: Handler): Promise<Peer> {
  const server =
    version === 'h1'
      ? createServer(handler as never)
      : createHttp2Server({ settings: { maxConcurrentStreams: 2_000 } }, handler as never)
  const sessions = new Set<{ destroy(): void }>()
  server.on('session', (session: { destroy(): void }) => sessions.add(session))
  server.on('connection', (socket: { destroy(): void }) => sessions.add(socket))
  const port = await listen(server as Server)
  const close = () => {
    for (const session of sessions) session.destroy()
    server.close()
  }
  return { port, close }
}

export interface PeerResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Buffer
  readonly trailers: Readonly<Record<string, unknown>>
}

export interface PeerRequest {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer
  readonly trailers?: Readonly<Record<string, string>>
}

/** A client of either version. */
export interface Client {
  ask(ask: PeerRequest): Promise<PeerResponse>
  close(): void
}

export function clientOf(version: Version, port: number): Client {
  return version === 'h1'
    ? http1Client(port)
    : http2Client(connect(`http://127.0.0.1:${port}`, { maxSessionMemory: 64 }))
}

function http1Client(port: number): Client {
  const ask = ({ method = 'GET', path = '/', headers = {}, body, trailers }: PeerRequest) =>
    new Promise<PeerResponse>((resolve, reject) => {
      const length = body !== undefined && trailers === undefined ? body.length : undefined
      const own = request({
        host: '127.0.0.1',
        port,
        method,
        path,
        headers: { ...headers, ...(length === undefined ? {} : { 'content-length': length }) },
      })
      own.on('error', reject)
      own.on('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (bytes) => chunks.push(bytes))
        response.on('error', reject)
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks),
            trailers: response.trailers,
          }),
        )
      })
      if (body !== undefined) own.write(body)
      if (trailers !== undefined) own.addTrailers(trailers)
      own.end()
    })
  return { ask, close: () => {} }
}

export function http2Client(session: ClientHttp2Session): Client {
  session.on('error', () => {})
  return { ask: (own) => askHttp2(session, own), close: () => session.destroy() }
}

export function askHttp2(session: ClientHttp2Session, own: PeerRequest): Promise<PeerResponse> {
  const { method = 'GET', path = '/', headers = {}, body, trailers } = own
  return new Promise<PeerResponse>((resolve, reject) => {
    const stream = session.request(
      { ':method': method, ':path': path, ...headers },
      { endStream: body === undefined, waitForTrailers: trailers !== undefined },
    )
    const chunks: Buffer[] = []
    let received: Record<string, unknown> = {}
    let found: Record<string, unknown> = {}
    stream.on('wantTrailers', () => stream.sendTrailers({ ...trailers }))
    stream.on('response', (fields) => {
      received = { ...fields }
    })
    stream.on('trailers', (fields) => {
      found = { ...fields }
    })
    stream.on('data', (bytes: Buffer) => chunks.push(bytes))
    stream.on('error', reject)
    stream.on('end', () => {
      if (stream.rstCode !== 0) return
      const status = Number(received[':status'] ?? 0)
      resolve({ status, headers: received, body: Buffer.concat(chunks), trailers: found })
    })
    stream.on('close', () => reject(new Error(`closed with ${stream.rstCode}`)))
    if (body !== undefined) stream.end(body)
  })
}
