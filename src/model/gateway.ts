import type { Diagnostic, Origin } from '../diagnostics/diagnostic.ts'
import type { Material } from './material.ts'
import type { Attached } from './policy.ts'
import type { SecretRef } from './secret.ts'

export interface Gateway {
  readonly name: string
  readonly origin: Origin
  readonly listeners: readonly Listener[]
  readonly policies: readonly Attached[]
}

export type Protocol = 'HTTP' | 'HTTPS' | 'TLS' | 'TCP'

export type Listener = PlainListener | HttpsListener | TlsListener | InvalidListener

interface ListenerIdentity {
  /** Unique within its gateway. */
  readonly name: string
  readonly origin: Origin
  /** `api.example.com` or `*.example.com`, in lower case. If absent, any name. */
  readonly hostname?: string
  readonly policies: readonly Attached[]
}

export interface PlainListener extends ListenerIdentity {
  readonly protocol: 'HTTP' | 'TCP'
  readonly port: number
}

export interface HttpsListener extends ListenerIdentity {
  readonly protocol: 'HTTPS'
  readonly port: number
  readonly tls: TerminatedTls
}

export interface TlsListener extends ListenerIdentity {
  readonly protocol: 'TLS'
  readonly port: number
  readonly tls: TerminatedTls | PassedTls
}

/** Closes every connection that it would receive; without a port it receives none. */
export interface InvalidListener extends ListenerIdentity {
  readonly protocol: 'Invalid'
  readonly port?: number
  readonly diagnostics: readonly Diagnostic[]
}

export interface TerminatedTls {
  readonly mode: 'Terminate'
  readonly certificates: readonly Certificate[]
  readonly clients?: ClientCertificates
  readonly minVersion?: TlsVersion
  readonly maxVersion?: TlsVersion
  readonly cipherSuites?: readonly string[]
  readonly keyExchangeGroups?: readonly string[]
  readonly alpn?: readonly string[]
}

/** Bytes are forwarded unchanged; routes see the server name of the ClientHello. */
export interface PassedTls {
  readonly mode: 'Passthrough'
}

export interface Certificate {
  readonly cert: Material
  readonly key: SecretRef
}

export interface ClientCertificates {
  readonly ca: Material
  readonly mode: 'Require' | 'Optional'
  /** With `Optional`: an invalid certificate counts as none and does not fail the handshake. */
  readonly ignoresInvalid?: true
}

export type TlsVersion = '1.2' | '1.3'

/** Whether it serves HTTP requests; other listeners forward bytes, or serve nothing. */
export function servesRequests({ protocol }: Pick<Listener, 'protocol'>): boolean {
  return protocol === 'HTTP' || protocol === 'HTTPS'
}

/** Whether it forwards the bytes of its connections, whatever they are. */
export function servesStreams({ protocol }: Pick<Listener, 'protocol'>): boolean {
  return protocol === 'TCP' || protocol === 'TLS'
}

/** The settings with which it terminates TLS; undefined if it does not. */
export function terminatedTls(listener: Listener): TerminatedTls | undefined {
  if (listener.protocol !== 'HTTPS' && listener.protocol !== 'TLS') return undefined
  return listener.tls.mode === 'Terminate' ? listener.tls : undefined
}

/** The client certificate mode of its handshake; undefined: no certificate is requested. */
export function clientsOf(listener: Listener): ClientCertificates['mode'] | undefined {
  return terminatedTls(listener)?.clients?.mode
}
