import type { X509Certificate } from 'node:crypto'
import type { ClientCertificate } from '../../exchange/connection.ts'

/** The attributes of a verified certificate that rules can read. */
export function clientCertificate(certificate: X509Certificate): ClientCertificate {
  const names = alternativeNames(certificate.subjectAltName ?? '')
  return {
    subject: distinguishedName(certificate.subject),
    subjectCn: commonName(certificate),
    subjectAltNames: names,
    identity: spiffeId(names),
    issuer: distinguishedName(certificate.issuer),
    fingerprint: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
  }
}

/**
 * RFC 4514: the most specific part first. OpenSSL writes one per line, the least specific first.
 */
function distinguishedName(lines: string | undefined): string {
  return (lines ?? '').split('\n').reverse().join(',')
}

function commonName(certificate: X509Certificate): string | undefined {
  const { CN } = certificate.toLegacyObject().subject as { CN?: string | string[] }
  // With several CNs, none is authoritative; RFC 5280 forbids empty ones, which count as none.
  return typeof CN === 'string' && CN !== '' ? CN : undefined
}

const KINDS = ['DNS:', 'IP Address:', 'URI:', 'email:']

/**
 * Parses Node's comma-separated list of names. A name with characters that could be mistaken for a
 * separator is quoted as a JSON string.
 */
function alternativeNames(text: string): readonly string[] {
  const names: string[] = []
  let rest = text
  while (rest !== '') {
    const kind = KINDS.find((own) => rest.startsWith(own)) ?? ''
    const value = rest.slice(kind.length)
    const quoted = /^"(?:[^"\\]|\\.)*"/.exec(value)?.[0]
    const plain = quoted ?? value.split(', ', 1)[0] ?? ''
    if (kind !== '' && plain !== '') names.push(quoted === undefined ? plain : unquoted(quoted))
    rest = value.slice(plain.length).replace(/^, /, '')
    // An unknown and empty kind of name: there is nothing more to read.
    if (kind === '' && plain === '') break
  }
  return names
}

function unquoted(text: string): string {
  try {
    return JSON.parse(text) as string
  } catch {
    return text
  }
}

/** SPIFFE X.509-SVID §2: exactly one URI, which is the identity. With two, there is none. */
function spiffeId(names: readonly string[]): string | undefined {
  const ids = names.filter((name) => name.startsWith('spiffe://'))
  return ids.length === 1 ? ids[0] : undefined
}
