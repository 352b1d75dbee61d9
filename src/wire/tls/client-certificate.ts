import type { X509Certificate } from 'node:crypto'
import type { ClientCertificate } from '../../exchange/connection.ts'

/** What rules can read of a certificate that was verified. */
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

/** RFC 4514: the most specific part first. OpenSSL has one on each line, the least specific first. */
function distinguishedName(lines: string | undefined): string {
  return (lines ?? '').split('\n').reverse().join(',')
}

function commonName(certificate: X509Certificate): string | undefined {
  const { CN } = certificate.toLegacyObject().subject as { CN?: string | string[] }
  // Of several, none is the one that was meant; RFC 5280 allows no empty one, so that is none either.
  return typeof CN === 'string' && CN !== '' ? CN : undefined
}

const KINDS = ['DNS:', 'IP Address:', 'URI:', 'email:']

/**
 * The list is text, with a comma between names. A name that has something in it that could be taken
 * for another one is quoted there, as a string of JSON.
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
    // A kind of name that is unknown to us, and empty: there is nothing more to be read.
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

/** SPIFFE X.509-SVID §2: one URI, and it is the identity. With two there is none. */
function spiffeId(names: readonly string[]): string | undefined {
  const ids = names.filter((name) => name.startsWith('spiffe://'))
  return ids.length === 1 ? ids[0] : undefined
}
