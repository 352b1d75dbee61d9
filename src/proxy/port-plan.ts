import type { Connection } from '../exchange/connection.ts'
import type { Attached } from '../model/policy.ts'
import type { ListenerProgram, Program } from '../program/program.ts'
import type { ServerLimits } from '../wire/http1/server-connection.ts'
import { HttpListeners } from './http-listeners.ts'
import type { StreamTarget } from './tcp.ts'

/** Network authorization of the connections of one gateway. */
export interface Admission {
  /** What its rules read, and so how early it can be asked. */
  readonly reads: 'source' | 'name' | 'certificate'
  /** True, or why not, in a word for the log. */
  admit(connection: Connection): true | string
}

export const ADMIT_ALL: Admission = { reads: 'source', admit: () => true }

/** What a Program that has rules and nobody to ask must do. */
export const ADMIT_NONE: Admission = { reads: 'source', admit: () => 'authorization' }

/** What the Program knows of connections, as distinct from requests. */
export interface ConnectionRules {
  /** Asked once per port and swap. */
  admission(program: Program, gateway: string): Admission
  /** Where the bytes of a connection go; a word where they go nowhere. */
  route(listener: ListenerProgram, connection: Connection): StreamTarget | string
}

/** How connections of one port are taken, as the Program says; made once per swap. */
export interface PortPlan {
  readonly port: number
  /** What comes first on the wire. `closed`: whoever comes is sent away. */
  readonly kind: 'http' | 'tls' | 'tcp' | 'closed'
  readonly listeners: readonly ListenerProgram[]
  /** The same by name: of the Host of a request, and of the ClientHello. */
  readonly names: HttpListeners
  readonly admission: Admission
  readonly proxyProtocol: ProxyProtocolPlan | undefined
  readonly http: ServerLimits
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
  readonly maxConnectionDuration?: number
}

const HTTP_DEFAULTS: HttpSettings = {
  maxHeadSize: 65_536,
  http1MaxHeaders: 100,
  headTimeout: 15_000,
  bodyTimeout: 60_000,
  http1IdleTimeout: 600_000,
}
const TLS_DEFAULTS: TlsDefaults = { handshakeTimeout: 15_000 }
const TCP_DEFAULTS = { keepalives: { enabled: true, time: 180_000 } }
const LONGEST_TARGET = 8_192

export function planPorts(
  program: Program,
  rules: ConnectionRules,
): ReadonlyMap<number, PortPlan> {
  const byPort = new Map<number, ListenerProgram[]>()
  for (const own of program.listeners) {
    const { port } = own.listener
    if (port === undefined) continue
    const others = byPort.get(port)
    if (others === undefined) byPort.set(port, [own])
    else others.push(own)
  }
  return new Map([...byPort].map(([port, own]) => [port, planPort(program, port, own, rules)]))
}

function planPort(
  program: Program,
  port: number,
  own: readonly ListenerProgram[],
  rules: ConnectionRules,
): PortPlan {
  // One that is invalid and has no name must not stand before those that are whole.
  const isInvalid = ({ listener }: ListenerProgram) => listener.protocol === 'Invalid'
  const listeners = [...own.filter((one) => !isInvalid(one)), ...own.filter(isInvalid)]
  const gateway = listeners[0]?.gateway ?? ''
  const policies = frontendPolicies(program, gateway)
  const http = { ...HTTP_DEFAULTS, ...valueOf<HttpSettings>(policies, 'frontendHttp') }
  return {
    port,
    kind: FRONTEND_KINDS.some((kind) => policies.get(kind)?.state === 'invalid')
      ? 'closed'
      : kindOf(listeners[0] as ListenerProgram),
    listeners,
    names: new HttpListeners(listeners),
    admission: rules.admission(program, gateway),
    proxyProtocol: valueOf<ProxyProtocolPlan>(policies, 'proxyProtocol'),
    http: {
      head: http.maxHeadSize,
      target: Math.min(LONGEST_TARGET, http.maxHeadSize),
      fields: http.http1MaxHeaders,
      idle: http.http1IdleTimeout,
      headTimeout: http.headTimeout,
      bodyTimeout: http.bodyTimeout,
      writeTimeout: http.bodyTimeout,
    },
    longest: http.maxConnectionDuration ?? 0,
    tls: { ...TLS_DEFAULTS, ...valueOf<TlsDefaults>(policies, 'frontendTls') },
    keepalive: (valueOf<typeof TCP_DEFAULTS>(policies, 'frontendTcp') ?? TCP_DEFAULTS).keepalives,
  }
}

/** Those that say how a connection is taken: without one of them none can be. */
const FRONTEND_KINDS = ['proxyProtocol', 'frontendTcp', 'frontendTls', 'frontendHttp'] as const

function kindOf({ listener }: ListenerProgram): PortPlan['kind'] {
  if (listener.protocol === 'HTTP') return 'http'
  if (listener.protocol === 'TCP') return 'tcp'
  return listener.protocol === 'Invalid' ? 'closed' : 'tls'
}

/** What is attached to the gateway goes before what is attached to all; of equals, the first. */
function frontendPolicies(program: Program, gateway: string): ReadonlyMap<string, Attached> {
  const own = program.model.gateways.find(({ name }) => name === gateway)?.policies ?? []
  const found = new Map<string, Attached>()
  for (const policy of [...own, ...program.model.frontend]) {
    if (policy.section === 'frontend' && !found.has(policy.kind)) found.set(policy.kind, policy)
  }
  return found
}

/** Schemas made sure of the shape when the configuration was read. */
function valueOf<T>(policies: ReadonlyMap<string, Attached>, kind: string): T | undefined {
  const policy = policies.get(kind)
  return policy?.state === 'valid' ? (policy.value as T) : undefined
}

/** Whether anything is to be asked before a connection of this gateway is taken. */
export function hasNetworkAuthorization(program: Program, gateway: string): boolean {
  return frontendPolicies(program, gateway).has('networkAuthorization')
}
