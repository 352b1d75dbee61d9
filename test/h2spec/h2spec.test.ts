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

/** Of its version in go/go.mod; fewer were not run. */
const CASES = 145
/** Milliseconds; well within what h2spec waits for a response. */
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
  /** Section and title of each that failed. */
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
      // Cases about streams that are half closed send a second frame after the request is whole. A
      // stream whose response was quicker than that frame is closed instead, which is another case.
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

  /** It exits with 1 where anything failed; what counts is its report. */
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
