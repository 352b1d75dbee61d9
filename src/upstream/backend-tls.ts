import { isIP } from 'node:net'
import {
  type ConnectionOptions,
  checkServerIdentity,
  createSecureContext,
  type PeerCertificate,
} from 'node:tls'
import type { Material } from '../model/material.ts'
import { type SecretRef, secretText } from '../model/secret.ts'

/** The value of the `backendTLS` policy. */
export interface BackendTLS {
  readonly root?: Material | undefined
  readonly cert?: Material | undefined
  readonly key?: SecretRef | undefined
  readonly hostname?: string | undefined
  readonly subjectAltNames?: readonly string[] | undefined
  readonly insecure: boolean
  readonly insecureHost: boolean
  readonly alpn?: readonly string[] | undefined
  readonly keyExchangeGroups?: readonly string[] | undefined
}

/** The options shared by every handshake with one endpoint. */
export type Handshake = Pick<
  ConnectionOptions,
  | 'secureContext'
  | 'servername'
  | 'rejectUnauthorized'
  | 'checkServerIdentity'
  | 'ALPNProtocols'
  | 'minVersion'
>

export const PLAIN_TLS: BackendTLS = { insecure: false, insecureHost: false }

/**
 * Reads keys and certificates once, for all connections to the host. Throws the OpenSSL error if
 * they cannot be read: the caller turns it into a failure of this backend only.
 */
export function handshakeWith(
  tls: BackendTLS,
  host: string,
  protocols: readonly string[],
): Handshake {
  const name = tls.hostname ?? host
  return {
    secureContext: createSecureContext({
      ...(tls.root === undefined ? {} : { ca: tls.root.text }),
      ...(tls.cert === undefined ? {} : { cert: tls.cert.text }),
      ...(tls.key === undefined ? {} : { key: secretText(tls.key) ?? '(missing)' }),
      ...(tls.keyExchangeGroups === undefined
        ? {}
        : { ecdhCurve: tls.keyExchangeGroups.map(groupName).join(':') }),
      minVersion: 'TLSv1.2',
    }),
    // RFC 6066 §3: an IP address is not a server name.
    ...(isIP(name) === 0 ? { servername: name } : {}),
    rejectUnauthorized: !tls.insecure,
    checkServerIdentity: (_, certificate) =>
      tls.insecureHost ? undefined : checkNames(tls.subjectAltNames ?? [name], certificate),
    ALPNProtocols: [...(tls.alpn ?? protocols)],
  }
}

/** `P-256` as other files spell it; OpenSSL uses the same names for the other groups. */
function groupName(name: string): string {
  return name.replace('_', '').toUpperCase() === 'X25519MLKEM768' ? 'X25519MLKEM768' : name
}

/** One of the names must be a subject alternative name; RFC 9525 §2: the common name is ignored. */
function checkNames(names: readonly string[], certificate: PeerCertificate): Error | undefined {
  if (certificate.subjectaltname === undefined) return new NameMismatch('it contains no name')
  const found = names.some((name) => {
    if (name.includes('://')) return urisOf(certificate.subjectaltname ?? '').includes(name)
    return checkServerIdentity(name, certificate) === undefined
  })
  if (found) return undefined
  return new NameMismatch(
    `it is valid for ${certificate.subjectaltname}, not for ${names.join(' or ')}`,
  )
}

class NameMismatch extends Error {
  readonly code = 'ERR_TLS_CERT_ALTNAME_INVALID'

  constructor(what: string) {
    super(`the certificate does not match: ${what}`)
  }
}

/**
 * Parses `DNS:a, URI:spiffe://b/c`. A name that contains a comma or a quote is written as a JSON
 * string, so that it cannot be mistaken for two names.
 */
export function urisOf(subjectAltName: string): readonly string[] {
  const uris: string[] = []
  const entry = /([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,"]*)(?:, |$)/y
  while (entry.lastIndex < subjectAltName.length) {
    const match = entry.exec(subjectAltName)
    if (match === null) break
    const [, kind, value = ''] = match
    if (kind === 'URI') uris.push(value.startsWith('"') ? String(JSON.parse(value)) : value)
  }
  return uris
}
