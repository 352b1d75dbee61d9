import { terminatedTls } from '../model/gateway.ts'
import { secretText } from '../model/secret.ts'
import type { KeepaliveSettings } from '../model/settings.ts'
import type { ListenerProgram, Program } from '../program/program.ts'
import { RequestNames, type Underscores } from '../wire/http1/request-names.ts'
import type { ServerLimits } from '../wire/http1/server-limits.ts'
import { HTTP2_LIMITS, type Http2Limits, type Rate } from '../wire/http2/limits.ts'
import type { Terminator, TerminatorOptions } from '../wire/tls/terminate.ts'
import type { ForwardedMode } from './client-address.ts'
import { HttpListeners } from './http-listeners.ts'

/** How a port accepts connections, as the Program defines; created once per swap. */
export interface PortPlan {
  readonly port: number
  /** What comes first on the wire. `closed`: every connection is closed. */
  readonly kind: 'http' | 'tls' | 'tcp' | 'closed'
  readonly listeners: readonly ListenerProgram[]
  /** The same by name: by the Host of a request, and the server name of the ClientHello. */
  readonly names: HttpListeners
  /** Whether network authorization only needs the source, whichever listener is selected. */
  readonly admitsAtOnce: boolean
  /** For listeners that terminate TLS; a string if their certificates cannot be used. */
  readonly terminators: ReadonlyMap<ListenerProgram, Terminator | string>
  readonly proxyProtocol: ProxyProtocolPlan | undefined
  readonly http: ServerLimits
  readonly http2: Http2Limits
  /** Max bytes of a body that an expression may read. */
  readonly maxBody: number
  /** The same of a call to a model. */
  readonly maxModelBody: number
  readonly maxJson: number
  /** The number of proxies in front whose entries in X-Forwarded-For are trusted. */
  readonly trustedHops: number
  /** How paths and names are read before routes and rules see them. */
  readonly reading: RequestReading
  /** Milliseconds after which a connection accepts no more requests; 0: never. */
  readonly longest: number
  readonly tls: TlsDefaults
  /** Max milliseconds without bytes on a connection that is not HTTP. */
  readonly streamIdle: number
  readonly keepalive: KeepaliveSettings
}

export interface RequestReading {
  readonly keepsSlashes: boolean
  readonly names: RequestNames
  readonly forwarded: ForwardedMode
}

export interface ProxyProtocolPlan {
  readonly mode: 'Strict' | 'Optional'
  readonly version: 'V1' | 'V2' | 'All'
}

/** Apply to all listeners that do not set these themselves. */
export interface TlsDefaults {
  readonly handshakeTimeout: number
  readonly alpn?: readonly string[]
  readonly minVersion?: '1.2' | '1.3'
  readonly maxVersion?: '1.2' | '1.3'
  readonly cipherSuites?: readonly string[]
  readonly keyExchangeGroups?: readonly string[]
}

interface HttpSettings extends Http1Settings {
  readonly forwarded: ForwardedMode
  readonly trustedHops: number
  readonly mergeSlashes: boolean
  readonly headersWithUnderscores: Underscores
  readonly requestTrailers: 'Drop' | 'Forward'
  readonly http2MaxConcurrentStreams: number
  readonly http2MaxResetsPerSecond: number
  readonly http2MaxControlFramesPerSecond: number
  readonly http2WindowSize: number
  readonly http2ConnectionWindowSize: number
  readonly http2FrameSize: number
  readonly http2MaxHeaderSize?: number
  readonly http2KeepaliveInterval: number
  readonly http2KeepaliveTimeout: number
}

interface Http1Settings {
  readonly maxHeadSize: number
  readonly http1MaxHeaders: number
  readonly http1HeaderCase: 'Lowercase' | 'Preserve'
  readonly headTimeout: number
  readonly bodyTimeout: number
  readonly http1IdleTimeout: number
  readonly maxBufferSize: number
  readonly maxModelBodySize: number
  readonly maxJsonSize: number
  readonly maxBodySize?: number
  readonly maxConnectionDuration?: number
  readonly upgrades?: readonly string[]
}

/** Those of the schema, for listeners without a policy. */
const HTTP_DEFAULTS: HttpSettings = {
  maxHeadSize: 65_536,
  http1MaxHeaders: 100,
  http1HeaderCase: 'Preserve',
  trustedHops: 0,
  forwarded: 'Auto',
  mergeSlashes: true,
  headersWithUnderscores: 'Auto',
  requestTrailers: 'Drop',
  maxBufferSize: 2_097_152,
  maxModelBodySize: 33_554_432,
  maxJsonSize: 2_097_152,
  headTimeout: 15_000,
  bodyTimeout: 60_000,
  http1IdleTimeout: 600_000,
  http2MaxConcurrentStreams: 100,
  http2MaxResetsPerSecond: 100,
  http2MaxControlFramesPerSecond: 1_000,
  http2WindowSize: 262_144,
  http2ConnectionWindowSize: 1_048_576,
  http2FrameSize: 16_384,
  http2KeepaliveInterval: 30_000,
  http2KeepaliveTimeout: 15_000,
}
const TLS_DEFAULTS: TlsDefaults = { handshakeTimeout: 15_000 }
const TCP_DEFAULTS: { readonly keepalives: KeepaliveSettings } = {
  keepalives: { enabled: true, time: 180_000, interval: 180_000, retries: 9 },
}
export const MAX_TARGET = 8_192
export const STREAM_IDLE = 3_600_000

/** Returns the same terminator for the same options, so that unchanged listeners keep theirs. */
export type MakeTerminator = (options: TerminatorOptions) => Terminator | string

export function planPorts(
  program: Program,
  terminator: MakeTerminator,
  hasHttp2: boolean,
): ReadonlyMap<number, PortPlan> {
  const byPort = new Map<number, ListenerProgram[]>()
  for (const own of program.listeners) {
    const { port } = own.listener
    if (port === undefined) continue
    const others = byPort.get(port)
    if (others === undefined) byPort.set(port, [own])
    else others.push(own)
  }
  const plan = (port: number, own: readonly ListenerProgram[]) => {
    const plain = planPort(program, port, own)
    const terminators = new Map<ListenerProgram, Terminator | string>()
    for (const one of plain.listeners) {
      const options = terminatorOptions(one, plain.tls, hasHttp2)
      if (options !== undefined) terminators.set(one, terminator(options))
    }
    return { ...plain, terminators }
  }
  return new Map([...byPort].map(([port, own]) => [port, plan(port, own)]))
}

function planPort(
  program: Program,
  port: number,
  own: readonly ListenerProgram[],
): Omit<PortPlan, 'terminators'> {
  // An invalid listener without a name must not come before valid ones.
  const isInvalid = ({ listener }: ListenerProgram) => listener.protocol === 'Invalid'
  const listeners = [...own.filter((one) => !isInvalid(one)), ...own.filter(isInvalid)]
  // Listeners that share a port are of one gateway, and settings for connections are set there.
  const first = listeners[0] as ListenerProgram
  const http = { ...HTTP_DEFAULTS, ...setting<HttpSettings>(first, 'frontendHttp') }
  const http1 = http1Limits(http)
  return {
    port,
    kind: first.isClosed === true ? 'closed' : kindOf(first),
    listeners,
    names: new HttpListeners(listeners),
    admitsAtOnce: listeners.every((one) => admissionOf(one) === 'source'),
    proxyProtocol: setting<ProxyProtocolPlan>(first, 'proxyProtocol'),
    http: http1,
    http2: http2Limits(http, http1),
    maxBody: http.maxBufferSize,
    maxModelBody: Math.max(http.maxBufferSize, http.maxModelBodySize),
    maxJson: http.maxJsonSize,
    trustedHops: http.trustedHops,
    reading: readingOf(http, program),
    longest: http.maxConnectionDuration ?? 0,
    tls: { ...TLS_DEFAULTS, ...setting<TlsDefaults>(first, 'frontendTls') },
    streamIdle: STREAM_IDLE,
    keepalive: (setting<typeof TCP_DEFAULTS>(first, 'frontendTcp') ?? TCP_DEFAULTS).keepalives,
  }
}

function readingOf(http: HttpSettings, { headersRead }: Program): RequestReading {
  const underscores = http.headersWithUnderscores
  const forwardsTrailers = http.requestTrailers === 'Forward'
  return {
    keepsSlashes: !http.mergeSlashes,
    forwarded: http.forwarded,
    names: new RequestNames({ underscores, forwardsTrailers }, headersRead),
  }
}

function http1Limits(http: Http1Settings): ServerLimits {
  return {
    head: http.maxHeadSize,
    target: Math.min(MAX_TARGET, http.maxHeadSize),
    fields: http.http1MaxHeaders,
    idle: http.http1IdleTimeout,
    headTimeout: http.headTimeout,
    bodyTimeout: http.bodyTimeout,
    writeTimeout: http.bodyTimeout,
    body: http.maxBodySize ?? Number.POSITIVE_INFINITY,
    lowersNames: http.http1HeaderCase === 'Lowercase',
    upgrades: new Set(http.upgrades),
  }
}

function http2Limits(http: HttpSettings, http1: ServerLimits): Http2Limits {
  return {
    ...HTTP2_LIMITS,
    ...http1,
    head: http.http2MaxHeaderSize ?? http1.head,
    streams: http.http2MaxConcurrentStreams,
    streamWindow: http.http2WindowSize,
    connectionWindow: http.http2ConnectionWindowSize,
    frame: http.http2FrameSize,
    resets: rate(http.http2MaxResetsPerSecond),
    controlFrames: rate(http.http2MaxControlFramesPerSecond),
    pingInterval: http.http2KeepaliveInterval,
    pingTimeout: http.http2KeepaliveTimeout,
  }
}

/** Twice as many may arrive at once, since clients do not send evenly. */
function rate(perSecond: number): Rate {
  return { perSecond, burst: 2 * perSecond }
}

/** What network authorization of a listener must wait for. */
export function admissionOf(program: ListenerProgram): 'source' | 'name' | 'certificate' {
  const { network } = program
  if (network === undefined) return 'source'
  if (network.readsCertificate && terminatedTls(program.listener)?.clients !== undefined) {
    return 'certificate'
  }
  return network.readsHostname ? 'name' : 'source'
}

function terminatorOptions(
  program: ListenerProgram,
  defaults: TlsDefaults,
  hasHttp2: boolean,
): TerminatorOptions | undefined {
  const tls = terminatedTls(program.listener)
  if (tls === undefined) return undefined
  const isHttp = program.listener.protocol === 'HTTPS'
  const wanted = tls.alpn ?? (isHttp ? (defaults.alpn ?? ['h2', 'http/1.1']) : [])
  return {
    certificates: tls.certificates.map(({ cert, key }) => ({
      cert: cert.text,
      // An invalid key fails when it is read, and is reported; a missing key would not be.
      key: secretText(key) ?? '(missing)',
    })),
    clients: tls.clients && { ...tls.clients, ca: tls.clients.ca.text },
    // The bytes of a TLS listener are the backend's: the gateway cannot promise their protocol.
    alpn: isHttp && !hasHttp2 ? wanted.filter((name) => name !== 'h2') : wanted,
    minVersion: tls.minVersion ?? defaults.minVersion,
    maxVersion: tls.maxVersion ?? defaults.maxVersion,
    cipherSuites: tls.cipherSuites ?? defaults.cipherSuites,
    keyExchangeGroups: tls.keyExchangeGroups ?? defaults.keyExchangeGroups,
  }
}

/**
 * Whether two Programs mean the same listener, and request the same certificates from clients: a
 * connection that one accepted may continue on the other.
 */
export function isAlike(one: ListenerProgram, other: ListenerProgram): boolean {
  if (one === other) return true
  const { name, protocol } = one.listener
  if (one.gateway !== other.gateway || name !== other.listener.name) return false
  if (protocol !== other.listener.protocol) return false
  const clients = terminatedTls(one.listener)?.clients
  const others = terminatedTls(other.listener)?.clients
  return clients?.mode === others?.mode && clients?.ca.text === others?.ca.text
}

function kindOf({ listener }: ListenerProgram): PortPlan['kind'] {
  if (listener.protocol === 'HTTP') return 'http'
  if (listener.protocol === 'TCP') return 'tcp'
  return listener.protocol === 'Invalid' ? 'closed' : 'tls'
}

/** Schemas checked the shape when the configuration was read. */
function setting<T>({ frontend }: ListenerProgram, kind: string): T | undefined {
  return frontend.find((policy) => policy.kind === kind)?.value as T | undefined
}
