import http2 from 'node:http2'
import net, { type AddressInfo } from 'node:net'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import { AggregatedDiscoveryService } from '../protobuf/generated/envoy/service/discovery/v3/ads_pb.ts'
import { type AdsOptions, adsService } from './ads.ts'
import { MAX_MESSAGE_BYTES } from './protocol.ts'

export type TransportMode = 'plaintext' | 'tls' | 'either'

export interface ServingCertificate {
  /** PEM. */
  readonly cert: string
  readonly key: string
}

export interface XdsServerOptions extends AdsOptions {
  readonly mode: TransportMode
  readonly host?: string
  readonly port: number
  /** Required unless the mode is plaintext. */
  readonly certificate?: ServingCertificate
  readonly maxConnections?: number
  /** Milliseconds between two pings; a proxy that did not acknowledge the last one is gone. */
  readonly pingInterval?: number
}

export interface XdsServer {
  readonly port: number
  /** Takes effect for new connections; existing ones stay open. */
  useCertificate(certificate: ServingCertificate): void
  close(): Promise<void>
}

/** The first byte of a TLS handshake. */
const TLS_HANDSHAKE = 0x16

/** RFC 9113: the connection preface of HTTP/2. */
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'

/** Milliseconds within which a connection must send its first bytes. */
const OPENING_TIMEOUT = 10_000

/**
 * Serves delta ADS. All connections use one port, where the first byte distinguishes TLS from
 * plaintext; connections that the mode does not allow are closed.
 */
export async function serveXds(options: XdsServerOptions): Promise<XdsServer> {
  const { mode, certificate, host, port, pingInterval = 30_000 } = options
  if (mode !== 'plaintext' && certificate === undefined)
    throw new Error('TLS requires a certificate')
  const shutdown = new AbortController()
  const handle = connectNodeAdapter({
    routes: (router) => router.service(AggregatedDiscoveryService, adsService(options)),
    grpc: true,
    grpcWeb: false,
    connect: false,
    readMaxBytes: MAX_MESSAGE_BYTES,
    // Configurations with thousands of routes would be compressed again for each proxy.
    acceptCompression: [],
    shutdownSignal: shutdown.signal,
  })
  const settings = { maxConcurrentStreams: 16 }
  const plain = http2.createServer({ settings }, handle)
  const secure = http2.createSecureServer(
    { settings, minVersion: 'TLSv1.2', allowHTTP1: false, ...certificate },
    handle,
  )
  const sessions = new Sessions()
  for (const server of [plain, secure]) {
    server.on('session', (session) => sessions.add(session))
    server.on('sessionError', () => {})
  }
  secure.on('tlsClientError', (_, socket) => socket.destroy())

  const sockets = new Set<net.Socket>()
  const front = net.createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    socket.setTimeout(OPENING_TIMEOUT, () => socket.destroy())
    socket.once('readable', () => {
      const first: Buffer | null = socket.read()
      if (first === null) return void socket.destroy()
      // In one piece: node:http2 fails on a second chunk if the first one was not HTTP/2.
      socket.unshift(first)
      socket.setTimeout(0)
      const isTls = first[0] === TLS_HANDSHAKE
      if (mode === (isTls ? 'plaintext' : 'tls')) return void socket.destroy()
      if (!isTls && !PREFACE.startsWith(first.toString('latin1', 0, PREFACE.length))) {
        return void socket.destroy()
      }
      ;(isTls ? secure : plain).emit('connection', socket)
    })
  })
  front.maxConnections = options.maxConnections ?? 10_000
  await new Promise<void>((resolve, reject) => {
    front.once('error', reject)
    front.listen({ port, host }, () => resolve())
  })
  const pinging = setInterval(() => sessions.check(), pingInterval)
  pinging.unref()
  return {
    port: (front.address() as AddressInfo).port,
    useCertificate: (next) => secure.setSecureContext({ ...next, minVersion: 'TLSv1.2' }),
    close: async () => {
      clearInterval(pinging)
      const closed = new Promise((resolve) => front.close(resolve))
      shutdown.abort()
      sessions.close()
      // Proxies connect to another replica as soon as their stream ends.
      await new Promise((resolve) => setImmediate(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

interface SessionState {
  streams: number
  /** Since the last check. */
  isIdle: boolean
  isAcknowledged: boolean
}

/** Closes connections whose peer disappeared or opens no streams; they would stay open forever. */
class Sessions {
  readonly #states = new Map<http2.ServerHttp2Session, SessionState>()

  add(session: http2.ServerHttp2Session): void {
    const state: SessionState = { streams: 0, isIdle: false, isAcknowledged: true }
    this.#states.set(session, state)
    session.on('close', () => this.#states.delete(session))
    session.on('error', () => session.destroy())
    session.on('stream', (stream) => {
      state.streams++
      state.isIdle = false
      stream.on('close', () => state.streams--)
    })
  }

  check(): void {
    for (const [session, state] of this.#states) {
      const isUseless = state.streams === 0 && state.isIdle
      if (!state.isAcknowledged || isUseless || session.destroyed) {
        session.destroy()
        continue
      }
      state.isIdle = state.streams === 0
      state.isAcknowledged = false
      session.ping((error) => {
        state.isAcknowledged = error === null
      })
    }
  }

  close(): void {
    for (const session of this.#states.keys()) session.close()
  }
}
