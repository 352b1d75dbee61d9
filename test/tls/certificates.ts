import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The `skip` option for node:test: false, or the reason to skip. */
export const WITHOUT_OPENSSL: string | false = (() => {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' })
    return false
  } catch {
    return 'openssl, which makes the certificates, is not installed'
  }
})()

export interface KeyPair {
  readonly cert: string
  readonly key: string
}

export interface IssueOptions {
  /** `CN=client`; slashes separate the parts. */
  readonly subject?: string
  /** `DNS:a.test`, `URI:spiffe://…`, `IP:127.0.0.1` */
  readonly names?: readonly string[]
  /** The certificate expired in 2020. */
  readonly isExpired?: boolean
}

/** A certificate authority; created for every test file, in a few milliseconds. */
export interface Authority extends KeyPair {
  readonly issue: (options: IssueOptions) => KeyPair
}

export function makeAuthority(name: string): Authority {
  const own = make({ subject: `CN=${name}` }, undefined)
  return { ...own, issue: (options) => make(options, own) }
}

function make(options: IssueOptions, by?: KeyPair): KeyPair {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-certificates-'))
  const at = (file: string) => join(folder, file)
  const read = (file: string) => readFileSync(at(file), 'utf8')
  const { subject = 'CN=test', names = [], isExpired = false } = options
  const extensions = [`basicConstraints=critical,CA:${by === undefined ? 'TRUE' : 'FALSE'}`]
  if (names.length > 0) extensions.push(`subjectAltName=${names.join(',')}`)
  try {
    if (by !== undefined) {
      writeFileSync(at('ca.pem'), by.cert)
      writeFileSync(at('ca.key'), by.key)
    }
    const signer = by === undefined ? [] : ['-CA', at('ca.pem'), '-CAkey', at('ca.key')]
    openssl(folder, [
      ...['req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
      ...['-keyout', at('key.pem'), '-subj', `/${subject}`, '-config', '/dev/null'],
      ...(isExpired
        ? ['-new', '-out', at('request.pem')]
        : ['-x509', '-days', '2', '-out', at('cert.pem'), ...signer]),
      ...extensions.flatMap((extension) => ['-addext', extension]),
    ])
    if (isExpired) signInThePast(folder)
    return { cert: read('cert.pem'), key: read('key.pem') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const DATABASE = `
[ca]
default_ca = own
[own]
database = index.txt
new_certs_dir = .
serial = serial
default_md = sha256
policy = any
[any]
commonName = supplied
`

/** `openssl ca` is the only command that accepts dates, and it requires a database. */
function signInThePast(folder: string): void {
  writeFileSync(join(folder, 'ca.conf'), DATABASE)
  writeFileSync(join(folder, 'index.txt'), '')
  writeFileSync(join(folder, 'serial'), '01')
  openssl(folder, [
    ...['ca', '-batch', '-config', 'ca.conf', '-cert', 'ca.pem', '-keyfile', 'ca.key', '-notext'],
    ...['-in', 'request.pem', '-out', 'cert.pem'],
    ...['-startdate', '20200101000000Z', '-enddate', '20200102000000Z'],
  ])
}

function openssl(folder: string, words: readonly string[]): void {
  execFileSync('openssl', words, { cwd: folder, stdio: 'ignore' })
}
