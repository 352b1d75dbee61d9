import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** A certificate and its key in PEM format. */
export interface KeyPair {
  readonly cert: string
  readonly key: string
}

export interface Authority extends KeyPair {
  issue(subject: string, names?: readonly string[]): KeyPair
}

/**
 * Issues certificates for the duration of a test run. Node can read X.509 but not write it; this
 * writes the few fields that TLS checks (RFC 5280).
 */
export function makeAuthority(name: string): Authority {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const make = (
    subject: string,
    names: readonly string[],
    subjectKey: KeyObject,
    isAuthority: boolean,
  ) => certificateOf({ subject, names, issuer: name, subjectKey, signer: privateKey, isAuthority })
  return {
    cert: make(name, [], publicKey, true),
    key: pemOf(privateKey),
    issue(subject, names = []) {
      const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      return { cert: make(subject, names, own.publicKey, false), key: pemOf(own.privateKey) }
    },
  }
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

interface Certificate {
  readonly subject: string
  readonly names: readonly string[]
  readonly issuer: string
  readonly subjectKey: KeyObject
  readonly signer: KeyObject
  readonly isAuthority: boolean
}

const ECDSA_SHA256 = sequence(oid('2a8648ce3d040302'))
const HOUR = 3_600_000
let serial = 1

function certificateOf(wanted: Certificate): string {
  const { subject, names, issuer, subjectKey, signer, isAuthority } = wanted
  const extensions = [
    extension('551d13', sequence(...(isAuthority ? [element(0x01, Buffer.from([0xff]))] : []))),
  ]
  if (names.length > 0) extensions.push(extension('551d11', sequence(...names.map(generalName))))
  const now = Date.now()
  const body = sequence(
    element(0xa0, integer(2)),
    integer(serial++),
    ECDSA_SHA256,
    commonName(issuer),
    sequence(time(now - HOUR), time(now + 24 * HOUR)),
    commonName(subject),
    subjectKey.export({ type: 'spki', format: 'der' }),
    element(0xa3, sequence(...extensions)),
  )
  const signature = sign('sha256', body, signer)
  const der = sequence(body, ECDSA_SHA256, element(0x03, Buffer.concat([ZERO, signature])))
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

const ZERO = Buffer.from([0])

/** Encodes one DER value: tag, length, content. */
function element(tag: number, content: Buffer): Buffer {
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  const size = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return element(0x30, Buffer.concat(parts))
}

function integer(value: number): Buffer {
  const bytes = Buffer.alloc(5)
  bytes.writeUInt32BE(value, 1)
  const first = bytes.findIndex((byte, index) => byte !== 0 || index === 4)
  const isNegative = ((bytes[first] as number) & 0x80) !== 0
  return element(0x02, bytes.subarray(isNegative ? first - 1 : first))
}

function oid(hex: string): Buffer {
  return element(0x06, Buffer.from(hex, 'hex'))
}

/** A distinguished name with only a common name; empty if the string is empty. */
function commonName(name: string): Buffer {
  if (name === '') return sequence()
  const text = element(0x0c, Buffer.from(name))
  return sequence(element(0x31, sequence(oid('550403'), text)))
}

function time(milliseconds: number): Buffer {
  const text = new Date(milliseconds).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return element(0x18, Buffer.from(text))
}

function extension(id: string, value: Buffer): Buffer {
  return sequence(oid(id), element(0x04, value))
}

/** `DNS:…` and `URI:…` */
function generalName(name: string): Buffer {
  const [, kind, value = ''] = /^(DNS|URI):(.*)$/.exec(name) ?? []
  if (kind === undefined) throw new Error(`${name}: a name begins with DNS: or URI:`)
  return element(kind === 'DNS' ? 0x82 : 0x86, Buffer.from(value))
}
