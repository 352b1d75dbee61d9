import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'
import { isIP } from 'node:net'

/** A certificate and its key, as PEM. */
export interface KeyedCertificate {
  readonly cert: string
  readonly key: string
}

export interface Validity {
  /** Milliseconds since 1970. */
  readonly from: number
  readonly to: number
}

/** Creates a self-signed certificate authority, with a new P-256 key or with `key`. */
export function makeAuthority(
  commonName: string,
  validity: Validity,
  key?: string,
): KeyedCertificate {
  const privateKey = key === undefined ? newKey() : createPrivateKey(key)
  const publicKey = createPublicKey(privateKey)
  const subject = nameOf(commonName)
  const extensions = [
    extension(OID.basicConstraints, sequence(BOOLEAN_TRUE), true),
    extension(OID.keyUsage, bits(0b0000_0110, 1), true),
    extension(OID.subjectKeyIdentifier, octetString(keyIdentifier(publicKey))),
  ]
  return issue(
    { subject, issuer: subject, publicKey, validity, extensions },
    privateKey,
    privateKey,
  )
}

/** Creates a certificate for a server with these names, signed by an authority. */
export function makeServingCertificate(
  authority: KeyedCertificate,
  hosts: readonly string[],
  validity: Validity,
): KeyedCertificate {
  const privateKey = newKey()
  const publicKey = createPublicKey(privateKey)
  const signer = createPrivateKey(authority.key)
  const signerKey = createPublicKey(authority.cert)
  const extensions = [
    extension(OID.basicConstraints, sequence(), true),
    extension(OID.keyUsage, bits(0b1000_0000, 7), true),
    extension(OID.extendedKeyUsage, sequence(OID.serverAuth)),
    extension(OID.subjectAltName, sequence(...hosts.map(alternativeName))),
    extension(OID.subjectKeyIdentifier, octetString(keyIdentifier(publicKey))),
    extension(OID.authorityKeyIdentifier, sequence(tagged(0x80, keyIdentifier(signerKey)))),
  ]
  const subject = nameOf((hosts[0] ?? '').slice(0, MAX_COMMON_NAME))
  const issuer = subjectBytes(authority.cert)
  return issue({ subject, issuer, publicKey, validity, extensions }, privateKey, signer)
}

function newKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
}

/** RFC 5280: ub-common-name. */
const MAX_COMMON_NAME = 64

interface Contents {
  readonly subject: Buffer
  readonly issuer: Buffer
  readonly publicKey: KeyObject
  readonly validity: Validity
  readonly extensions: readonly Buffer[]
}

function issue(contents: Contents, key: KeyObject, signer: KeyObject): KeyedCertificate {
  const { subject, issuer, publicKey, validity, extensions } = contents
  const { digest, algorithm } = signatureOf(signer)
  const serial = randomBytes(16)
  serial[0] = ((serial[0] as number) & 0x7f) | 0x40
  const toSign = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    tagged(0x02, serial),
    algorithm,
    issuer,
    sequence(time(validity.from), time(validity.to)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(...extensions)),
  )
  const signature = sign(digest, toSign, signer)
  const der = sequence(toSign, algorithm, bitString(signature))
  return {
    cert: new X509Certificate(der).toString(),
    key: key.export({ type: 'pkcs8', format: 'pem' }) as string,
  }
}

/** Supplied authorities may have other kinds of keys. */
function signatureOf(signer: KeyObject): { digest: string | null; algorithm: Buffer } {
  switch (signer.asymmetricKeyType) {
    case 'ec':
      return { digest: 'sha256', algorithm: sequence(OID.ecdsaWithSha256) }
    case 'rsa':
      return { digest: 'sha256', algorithm: sequence(OID.sha256WithRsa, Buffer.from([5, 0])) }
    case 'ed25519':
      return { digest: null, algorithm: sequence(OID.ed25519) }
    default:
      throw new Error(`keys of type ${signer.asymmetricKeyType} cannot sign certificates`)
  }
}

/** The subject exactly as encoded in a certificate: names must be equal byte by byte. */
function subjectBytes(cert: string): Buffer {
  const toSign = children(children(new X509Certificate(cert).raw)[0] as Buffer)
  // Version 1 certificates have no version field.
  return toSign[toSign[0]?.[0] === 0xa0 ? 5 : 4] as Buffer
}

/** RFC 5280, 4.2.1.2: only the bits of the key. */
function keyIdentifier(key: KeyObject): Buffer {
  const [, value] = children(key.export({ type: 'spki', format: 'der' }))
  return createHash('sha1')
    .update(contentOf(value as Buffer).subarray(1))
    .digest()
}

function nameOf(commonName: string): Buffer {
  const value = tagged(0x0c, Buffer.from(commonName))
  return sequence(tagged(0x31, sequence(OID.commonName, value)))
}

function alternativeName(host: string): Buffer {
  if (isIP(host) === 4) return tagged(0x87, Buffer.from(host.split('.').map(Number)))
  if (isIP(host) === 6) return tagged(0x87, addressBytes(host))
  return tagged(0x82, Buffer.from(host, 'latin1'))
}

function addressBytes(host: string): Buffer {
  // The URL parser writes addresses in one form, with only hexadecimal groups.
  const text = new URL(`http://[${host}]`).hostname.slice(1, -1)
  const [head = '', tail] = text.split('::')
  const groups = (part: string) => (part === '' ? [] : part.split(':'))
  const zeros = 8 - groups(head).length - groups(tail ?? '').length
  const all = [...groups(head), ...Array<string>(zeros).fill('0'), ...groups(tail ?? '')]
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex')
}

function extension(oid: Buffer, value: Buffer, isCritical = false): Buffer {
  return sequence(oid, ...(isCritical ? [BOOLEAN_TRUE] : []), octetString(value))
}

/** UTCTime until 2049, GeneralizedTime from 2050. */
function time(at: number): Buffer {
  const text = `${new Date(at).toISOString().replaceAll(/[-:T]|\.\d+/g, '')}`
  const isShort = text < '2050'
  return tagged(isShort ? 0x17 : 0x18, Buffer.from(isShort ? text.slice(2) : text))
}

const BOOLEAN_TRUE = Buffer.from([0x01, 0x01, 0xff])

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts))
}

function octetString(value: Buffer): Buffer {
  return tagged(0x04, value)
}

function bitString(value: Buffer): Buffer {
  return tagged(0x03, Buffer.concat([Buffer.from([0]), value]))
}

function bits(value: number, unused: number): Buffer {
  return tagged(0x03, Buffer.from([unused, value]))
}

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  const size = Buffer.from(length.toString(16).padStart(length > 0xff ? 4 : 2, '0'), 'hex')
  return Buffer.concat([Buffer.from([tag, 0x80 | size.length]), size, content])
}

/** The elements of a well-formed constructed value. */
function children(der: Buffer): Buffer[] {
  const content = contentOf(der)
  const found: Buffer[] = []
  for (let at = 0; at < content.length; ) {
    const { start, end } = extent(content.subarray(at))
    found.push(content.subarray(at, at + end))
    if (end < start) throw new Error('not DER')
    at += end
  }
  return found
}

function contentOf(der: Buffer): Buffer {
  const { start, end } = extent(der)
  return der.subarray(start, end)
}

function extent(der: Buffer): { start: number; end: number } {
  const first = der[1] as number
  if (first < 0x80) return { start: 2, end: 2 + first }
  const count = first & 0x7f
  return { start: 2 + count, end: 2 + count + der.readUIntBE(2, count) }
}

/** Encoded object identifiers. */
const OID = {
  ecdsaWithSha256: Buffer.from('06082a8648ce3d040302', 'hex'),
  sha256WithRsa: Buffer.from('06092a864886f70d01010b', 'hex'),
  ed25519: Buffer.from('06032b6570', 'hex'),
  commonName: Buffer.from('0603550403', 'hex'),
  basicConstraints: Buffer.from('0603551d13', 'hex'),
  keyUsage: Buffer.from('0603551d0f', 'hex'),
  extendedKeyUsage: Buffer.from('0603551d25', 'hex'),
  serverAuth: Buffer.from('06082b06010505070301', 'hex'),
  subjectAltName: Buffer.from('0603551d11', 'hex'),
  subjectKeyIdentifier: Buffer.from('0603551d0e', 'hex'),
  authorityKeyIdentifier: Buffer.from('0603551d23', 'hex'),
}
