import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { buildGo } from '../oracle/build-go.ts'
import { free } from '../proxy/accepting.ts'
import { type Peer, startPeer } from '../proxy/http2-peers.ts'
import { startWhole, type WholeGateway } from '../proxy/whole-gateway.ts'
import { makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'

/**
 * The number of cases in the version pinned in go/go.mod; a lower count means that some did not
 * run.
 */
const CASES = 145
/** Milliseconds; well within the time that h2spec waits for a response. */
const RESPONSE_DELAY = 300
const built = buildGo(
  new URL('go/', import.meta.url),
  'h2spec',
  'github.com/summerwind/h2spec/cmd/h2spec',
)
const program = 'missing' in built ? '' : built.program
const skip = 'missing' in built ? built.missing : WITHOUT_OPENSSL

interface Report {
  readonly passed: number
  /** The section and title of each failed case. */
  readonly failed: readonly string[]
}

describe('h2spec', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-h2spec-'))
  let peer: Peer
  let gateway: WholeGateway
  let ports: { plain: number; secured: number }

  before(async () => {
    peer = await startPeer('h1', (request, response) => {
      request.resume()
      // Cases about half-closed streams send a second frame after the request is complete. If the
      // response overtakes that frame, the stream is closed, which is a different case.
      setTimeout(() => response.end('hello'), RESPONSE_DELAY)
    })
    const [plain, secured] = await Promise.all([free(), free()])
    ports = { plain, secured }
    const { cert, key } = makeAuthority('h2spec').issue({ names: ['IP:127.0.0.1'] })
    const inline = (text: string) => `{ inline: ${JSON.stringify(text)} }`
    gateway = await startWhole(`gateways:
  plain: { port: ${plain} }
  secured: { port: ${secured}, tls: { cert: ${inline(cert)}, key: ${inline(key)} } }
routes:
- name: all
  gateways: [plain, secured]
  backends: [{ host: 127.0.0.1:${peer.port} }]
`)
  })

  after(async () => {
    await gateway.stop()
    peer.close()
    rmSync(folder, { recursive: true })
  })

  /** h2spec exits with 1 if any case failed; only its report counts. */
  async function run(...args: readonly string[]): Promise<Report> {
    const file = join(folder, 'report.xml')
    await new Promise<void>((done) => {
      execFile(program, ['-j', file, ...args], { timeout: 200_000 }, () => done())
    })
    return reportIn(readFileSync(file, 'utf8'))
  }

  for (const [how, args] of [
    ['in the clear', () => ['-p', String(ports.plain)]],
    ['over TLS', () => ['-t', '-k', '-p', String(ports.secured)]],
  ] as const) {
    it(`${how}: all ${CASES} cases pass`, async () => {
      const { passed, failed } = await run(...args())
      assert.deepEqual(failed, [])
      assert.equal(passed, CASES)
    })
  }
})

function reportIn(xml: string): Report {
  const cases = [
    ...xml.matchAll(/<testcase package="([^"]*)" classname="([^"]*)"[^>]*>([\s\S]*?)<\/testcase>/g),
  ]
  const failed = cases.filter(([, , , inner = '']) => /<(failure|error)/.test(inner))
  const names = failed.map(
    ([, section, title = '']) => `${section} ${title.replaceAll('&#39;', "'")}`,
  )
  return { passed: cases.length - failed.length, failed: names }
}
