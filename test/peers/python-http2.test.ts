import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { free } from '../proxy/accepting.ts'
import { listen } from '../proxy/harness.ts'
import { startWhole, until, type WholeGateway } from '../proxy/whole-gateway.ts'
import { makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'

const CLIENTS = join(import.meta.dirname, 'python/clients.py')
const PACKAGES = join(import.meta.dirname, '../../.cache/http2-python')
const env = { ...process.env, PYTHONPATH: PACKAGES }
const isThere = spawnSync('python3', ['-c', 'import grpc, httpx, h2'], { env }).status === 0
const skip =
  WITHOUT_OPENSSL ||
  (isThere
    ? false
    : "no packages of Python: pip install --target .cache/http2-python 'httpx[http2]' grpcio")

/** httpx, h2 and grpcio, each through the gateway. */
describe('HTTP/2 with Python', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-python-'))
  const large = randomBytes(3_000_000)
  let backend: Server
  let server: ChildProcess
  let said = ''
  let gateway: WholeGateway
  let ports = { plain: 0, secured: 0 }

  before(async () => {
    server = spawn('python3', [CLIENTS, 'serve'], { env, stdio: ['pipe', 'pipe', 'inherit'] })
    server.stdout?.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
    backend = createServer((request, response) => {
      if (request.url === '/large') return void response.end(large)
      if (request.url === '/chunks') {
        for (let i = 0; i < 100; i++) response.write(`chunk ${i}\n`)
        return void response.end()
      }
      let bytes = 0
      const { cookie } = request.headers
      const rest = cookie === undefined ? '' : ` ${cookie}`
      request.on('data', (part) => (bytes += part.length))
      request.on('end', () => response.end(`${request.method} ${request.url} ${bytes}${rest}\n`))
    })
    const own = await listen(backend)
    const authority = makeAuthority('python')
    const { cert, key } = authority.issue({ names: ['DNS:localhost'] })
    writeFileSync(join(folder, 'ca.pem'), authority.cert)
    const [plain, secured] = await Promise.all([free(), free()])
    ports = { plain, secured }
    await until('the port', () => said.includes('\n'))
    const inline = (text: string) => `{ inline: ${JSON.stringify(text)} }`
    gateway = await startWhole(`gateways:
  plain: { port: ${plain} }
  secured: { port: ${secured}, tls: { cert: ${inline(cert)}, key: ${inline(key)} } }
routes:
- name: grpc
  gateways: [plain]
  matches: [{ path: { pathPrefix: /test.Python } }]
  backends: [{ host: '127.0.0.1:${said.trim()}', policies: { http: { version: HTTP2 } } }]
- name: all
  gateways: [plain, secured]
  policies: { authorization: { rules: [{ deny: "request.path == '/denied'" }] } }
  backends: [{ host: 127.0.0.1:${own} }]
`)
  })

  after(async () => {
    await gateway?.stop()
    server.stdin?.end()
    server.kill()
    backend.close()
    backend.closeAllConnections()
    rmSync(folder, { recursive: true })
  })

  const run = (...args: readonly string[]) =>
    new Promise<readonly string[]>((resolve) => {
      execFile('python3', [CLIENTS, ...args], { env, timeout: 120_000 }, (error, out, err) =>
        resolve([...out.trim().split('\n'), ...(error === null ? [] : [err])]),
      )
    })

  it('grpcio: all kinds of calls, large messages, deadlines, cancellation, pings', async () => {
    assert.deepEqual(await run('grpc', `127.0.0.1:${ports.plain}`), [
      `unary ${8 << 20} yes`,
      'server 1000 10000000',
      'client 10000000',
      'both 1000 10000000',
      "late [b'late']",
      'fail NOT_FOUND no such thing: ü %',
      'deadline DEADLINE_EXCEEDED',
      'cancel',
      'many True',
    ])
    // The backend sees both cancellations.
    await until('two cancellations', () => said.match(/cancelled/g)?.length === 2)
  })

  it('httpx: 300 concurrent requests on one connection, bidirectional bodies, cookies', async () => {
    const url = `https://localhost:${ports.secured}`
    assert.deepEqual(await run('httpx', url, join(folder, 'ca.pem')), [
      'HTTP/2 200 GET /a?b=1 0',
      'many True',
      `large ${createHash('sha256').update(large).digest('hex')}`,
      `PUT /up ${large.length}`,
      'denied 403',
      'OPTIONS /options 0 a=1; b=2',
    ])
  })

  it('h2: windows that grow and shrink while responses arrive', async () => {
    assert.deepEqual(await run('h2', String(ports.plain)), ['bodies 60 True'])
  })
})
