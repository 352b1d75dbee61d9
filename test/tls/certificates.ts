import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** node:test takes it as `skip`: false, or why. */
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
  /** `CN=client`, parts separated by slashes. */
  readonly subject?: string
  /** `DNS:a.test`, `URI:spiffe://…`, `IP:127.0.0.1` */
  readonly names?: readonly string[]
  readonly days?: number
}

/** An authority that signs certificates; made anew for every test file, in a few milliseconds. */
export interface Authority extends KeyPair {
  readonly issue: (options: IssueOptions) => KeyPair
}

export function makeAuthority(name: string): Authority {
  const own = make({ subject: `CN=${name}` }, undefined)
  return { ...own, issue: (options) => make(options, own) }
}

function make({ subject = 'CN=test', names = [], days = 2 }: IssueOptions, by?: KeyPair): KeyPair {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-certificates-'))
  const at = (file: string) => join(folder, file)
  try {
    const signer: string[] = []
    if (by !== undefined) {
      for (const [file, text] of [['ca.pem', by.cert], ['ca.key', by.key]] as const) {
        execFileSync('tee', [at(file)], { input: text, stdio: ['pipe', 'ignore', 'ignore'] })
      }
      signer.push('-CA', at('ca.pem'), '-CAkey', at('ca.key'))
    }
    const kind = by === undefined ? 'critical,CA:TRUE' : 'critical,CA:FALSE'
    const extensions = [`basicConstraints=${kind}`]
    if (names.length > 0) extensions.push(`subjectAltName=${names.join(',')}`)
    execFileSync(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'],
        ...['-keyout', at('key.pem'), '-out', at('cert.pem'), '-subj', `/${subject}`],
        ...['-days', `${days}`, '-config', '/dev/null', ...signer],
        ...extensions.flatMap((extension) => ['-addext', extension]),
      ],
      { stdio: 'ignore' },
    )
    const read = (file: string) => readFileSync(at(file), 'utf8')
    return { cert: read('cert.pem'), key: read('key.pem') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
