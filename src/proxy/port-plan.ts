import type { Connection } from '../exchange/connection.ts'
import type { ListenerProgram, Program } from '../program/program.ts'
import type { ServerLimits } from '../wire/http1/server-connection.ts'
import { HttpListeners } from './http-listeners.ts'
import type { StreamTarget } from './tcp.ts'

/** Where the bytes of a connection go, where it is not one of HTTP; a word where nowhere. */
export type StreamRouter = (
  listener: ListenerProgram,
  connection: Connection,
) => StreamTarget | string

/** How connections of one port are taken, as the Program says; made once per swap. */
export interface PortPlan {
  readonly port: number
  /** What comes first on the wire. `closed`: whoever comes is sent away. */
  readonly kind: 'http' | 'tls' | 'tcp' | 'closed'
  readonly listeners: readonly ListenerProgram[]
  /** The same by name: of the Host of a request, and of the ClientHello. */
  readonly names: HttpListeners
  /** Whether network authorization has to wait for the ClientHello. */
  readonly waitsForName: boolean
  readonly proxyProtocol: ProxyProtocolPlan | undefined
  readonly http: ServerLimits
  /** Octets of a body that an expression may read. */
  readonly mostBody: number
  /** Milliseconds after which a connection takes no more requests; 0: never. */
  readonly longest: number
  readonly tls: TlsDefaults
  readonly keepalive: { readonly enabled: boolean; readonly time: number }
}

export interface ProxyProtocolPlan {
  readonly mode: 'Strict' | 'Optional'
  readonly version: 'V1' | 'V2' | 'All'
}

/** Of all listeners, where they do not say otherwise. */
export interface TlsDefaults {
  readonly handshakeTimeout: number
  readonly alpn?: readonly string[]
  readonly minVersion?: '1.2' | '1.3'
  readonly maxVersion?: '1.2' | '1.3'
  readonly cipherSuites?: readonly string[]
  readonly keyExchangeGroups?: readonly string[]
}

interface HttpSettings {
  readonly maxHeadSize: number
  readonly http1MaxHeaders: number
  readonly headTimeout: number
  readonly bodyTimeout: number
  readonly http1IdleTimeout: number
  readonly maxBufferSize: number
  readonly maxConnectionDuration?: number
}

const HTTP_DEFAULTS: HttpSettings = {
  maxHeadSize: 65_536,
  http1MaxHeaders: 100,
  maxBufferSize: 2_097_152,
  headTimeout: 15_000,
  bodyTimeout: 60_000,
  http1IdleTimeout: 600_000,
}
const TLS_DEFAULTS: TlsDefaults = { handshakeTimeout: 15_000 }
const TCP_DEFAULTS = { keepalives: { enabled: true, time: 180_000 } }
const LONGEST_TARGET = 8_192

export function planPorts(program: Program): ReadonlyMap<number, PortPlan> {
  const byPort = new Map<number, ListenerProgram[]>()
  for (const own of program.listeners) {
    const { port } = own.listener
    if (port === undefined) continue
    const others = byPort.get(port)
    if (others === undefined) byPort.set(port, [own])
    else others.push(own)
  }
  return new Map([...byPort].map(([port, own]) => [port, planPort(program, port, own)]))
}

function planPort(program: Program, port: number, own: readonly ListenerProgram[]): PortPlan {
  // One that is invalid and has no name must not stand before those that are whole.
  const isInvalid = ({ listener }: ListenerProgram) => listener.protocol === 'Invalid'
  const listeners = [...own.filter((one) => !isInvalid(one)), ...own.filter(isInvalid)]
  // Listeners that share a port are of one gateway, and what is set for connections is set there.
  const first = listeners[0] as ListenerProgram
  const http = { ...HTTP_DEFAULTS, ...valueOf<HttpSettings>(first, 'frontendHttp') }
  return {
    port,
    kind: isBroken(program, first.gateway) ? 'closed' : kindOf(first),
    listeners,
    names: new HttpListeners(listeners),
    waitsForName: listeners.some(({ network }) => network?.readsHostname === true),
    proxyProtocol: valueOf<ProxyProtocolPlan>(first, 'proxyProtocol'),
    http: {
      head: http.maxHeadSize,
      target: Math.min(LONGEST_TARGET, http.maxHeadSize),
      fields: http.http1MaxHeaders,
      idle: http.http1IdleTimeout,
      headTimeout: http.headTimeout,
      bodyTimeout: http.bodyTimeout,
      writeTimeout: http.bodyTimeout,
    },
    mostBody: http.maxBufferSize,
    longest: http.maxConnectionDuration ?? 0,
    tls: { ...TLS_DEFAULTS, ...valueOf<TlsDefaults>(first, 'frontendTls') },
    keepalive: (valueOf<typeof TCP_DEFAULTS>(first, 'frontendTcp') ?? TCP_DEFAULTS).keepalives,
  }
}

/** Those that say how a connection is taken: without one of them none can be. */
const FRONTEND_KINDS: readonly string[] = [
  'proxyProtocol',
  'frontendTcp',
  'frontendTls',
  'frontendHttp',
  'networkAuthorization',
]

function kindOf({ listener }: ListenerProgram): PortPlan['kind'] {
  if (listener.protocol === 'HTTP') return 'http'
  if (listener.protocol === 'TCP') return 'tcp'
  return listener.protocol === 'Invalid' ? 'closed' : 'tls'
}

/** A policy that does not hold what it says: nobody can be taken as it would have them taken. */
function isBroken({ model }: Program, gateway: string): boolean {
  const own = model.gateways.find(({ name }) => name === gateway)?.policies ?? []
  return [...own, ...model.frontend].some(
    ({ state, section, kind }) =>
      state === 'invalid' && section === 'frontend' && FRONTEND_KINDS.includes(kind),
  )
}

/** Schemas made sure of the shape when the configuration was read. */
function valueOf<T>({ frontend }: ListenerProgram, kind: string): T | undefined {
  return frontend.find((policy) => policy.kind === kind)?.value as T | undefined
}
