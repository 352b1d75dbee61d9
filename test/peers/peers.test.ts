import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { free } from '../proxy/accepting.ts'
import { listen } from '../proxy/harness.ts'
import { startWhole, type WholeGateway } from '../proxy/whole-gateway.ts'
import { makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'

/** False, or why a test that needs this program is skipped. */
function without(program: string, ...args: readonly string[]): string | false {
  const { error } = spawnSync(program, args.length === 0 ? ['--version'] : args)
  return error === undefined ? false : `${program} is not installed`
}

const NO_CURL = without('curl')
const NO_NGHTTP = without('nghttp')
const NO_H2LOAD = without('h2load')
const NO_WRK = without('wrk')

/** False, or why tests that need HTTP/2 in curl are skipped. */
const NO_CURL_HTTP2 =
  NO_CURL !== false || String(spawnSync('curl', ['--version']).stdout).includes('HTTP2')
    ? NO_CURL
    : 'this curl speaks no HTTP/2'

interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

function run(program: string, ...args: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    const child = execFile(
      program,
      args,
      { timeout: 30_000, maxBuffer: 64 << 20, encoding: 'latin1' },
      (error, out, err) => resolve({ code: Number(error?.code ?? 0), out, err }),
    )
    child.stdin?.end()
  })
}

describe('third-party programs', { skip: WITHOUT_OPENSSL }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-peers-'))
  const large = randomBytes(3_000_000)
  let backend: Server
  let gateway: WholeGateway
  let ports: { plain: number; secured: number }
  const file = (name: string) => join(folder, name)

  before(async () => {
    backend = createServer((request, response) => {
      if (request.url === '/large') return void response.end(large)
      if (request.url === '/chunks') {
        response.writeHead(200, { trailer: 'x-tail' })
        for (let i = 0; i < 100; i++) response.write(`chunk ${i}\n`)
        response.addTrailers({ 'x-tail': 'yes' })
        return void response.end()
      }
      // Never reads any of the body.
      if (request.url === '/unread') return
      let byteCount = 0
      request.on('data', (bytes) => (byteCount += bytes.length))
      request.on('end', () => response.end(`${request.method} ${request.url} ${byteCount}\n`))
    })
    const own = await listen(backend)
    const authority = makeAuthority('peers')
    const { cert, key } = authority.issue({ names: ['DNS:gateway.test'] })
    writeFileSync(file('ca.pem'), authority.cert)
    writeFileSync(file('large'), large)
    writeFileSync(file('huge'), Buffer.alloc(20_000_000))
    const [plain, secured] = await Promise.all([free(), free()])
    ports = { plain, secured }
    const inline = (text: string) => `{ inline: ${JSON.stringify(text)} }`
    gateway = await startWhole(`gateways:
  plain: { port: ${plain} }
  secured: { port: ${secured}, tls: { cert: ${inline(cert)}, key: ${inline(key)} } }
routes:
- name: denied
  gateways: [plain, secured]
  matches: [{ path: { exact: /denied } }]
  policies: { authorization: { rules: [{ deny: 'true' }] } }
  backends: [{ host: 127.0.0.1:${own} }]
- name: unread
  gateways: [plain, secured]
  matches: [{ path: { exact: /unread } }]
  policies: { timeout: { request: 300ms } }
  backends: [{ host: 127.0.0.1:${own} }]
- name: all
  gateways: [plain, secured]
  backends: [{ host: 127.0.0.1:${own} }]
`)
  })

  after(async () => {
    await gateway.stop()
    backend.close()
    backend.closeAllConnections()
    rmSync(folder, { recursive: true })
  })

  const url = (way: string, path: string) =>
    way.startsWith('https')
      ? `https://gateway.test:${ports.secured}${path}`
      : `http://127.0.0.1:${ports.plain}${path}`

  const trust = () => [
    '--cacert',
    file('ca.pem'),
    '--resolve',
    `gateway.test:${ports.secured}:127.0.0.1`,
  ]

  for (const [way, version, flags, skip] of [
    ['http/1.1', '1.1', ['--http1.1'], NO_CURL],
    ['http/1.0', '1.1', ['--http1.0'], NO_CURL],
    ['h2c', '2', ['--http2-prior-knowledge'], NO_CURL_HTTP2],
    ['https h2', '2', ['--http2'], NO_CURL_HTTP2],
    ['https http/1.1', '1.1', ['--http1.1'], NO_CURL],
  ] as const) {
    describe(`curl, ${way}`, { skip }, () => {
      const curl = (path: string, ...more: readonly string[]) =>
        run('curl', '-sS', '--max-time', '20', ...trust(), ...flags, ...more, url(way, path))

      it('GET, with the requested version', async () => {
        const { out } = await curl('/a?b=1', '-w', '%{http_version} %{http_code}')
        assert.equal(out, `GET /a?b=1 0\n${way === 'http/1.0' ? '1.1' : version} 200`)
      })

      it('an upload and a download of 3 MB', async () => {
        const up = await curl('/up', '-T', file('large'))
        assert.equal(up.out, `PUT /up ${large.length}\n`)
        const down = await curl('/large')
        assert.ok(Buffer.from(down.out, 'latin1').equals(large))
      })

      it('an upload of unknown length', async () => {
        if (way === 'http/1.0') return
        const { out } = await curl(
          '/up',
          '-H',
          'transfer-encoding: chunked',
          '-X',
          'POST',
          '--data-binary',
          `@${file('large')}`,
        )
        assert.match(out, new RegExp(`^POST /up ${large.length}\n`))
      })

      it('chunks with a trailer, HEAD, and 403', async () => {
        const chunks = await curl('/chunks')
        assert.equal(chunks.out.split('\n').length, 101)
        const head = await curl('/a', '-I')
        assert.match(head.out, /^HTTP\/[12.]+ 200/)
        const denied = await curl('/denied', '-o', '/dev/null', '-w', '%{http_code}')
        assert.equal(denied.out, '403')
      })

      it('a response that arrives in the middle of an upload', async () => {
        const upload = ['--data-binary', `@${file('huge')}`, '-H', 'expect:']
        const { out } = await curl('/unread', ...upload, '-w', '\n%{http_code}')
        assert.match(out, /Gateway Timeout[\s\S]*\n504$/)
        const denied = await curl('/denied', ...upload, '-w', '\n%{http_code}')
        assert.match(denied.out, /\n403$/)
      })

      it('20 requests on one connection', async () => {
        const { out } = await curl('/a?[1-20]', '-o', '/dev/null', '-w', '%{num_connects} ')
        const connects = out.trim().split(' ').map(Number)
        const all = connects.reduce((sum, own) => sum + own, 0)
        assert.equal(all, way === 'http/1.0' ? all : 1)
        assert.equal(connects.length, 20)
      })
    })
  }

  it('curl: Expect: 100-continue gets a response before the body', { skip: NO_CURL }, async () => {
    const { err, out } = await run(
      'curl',
      '-sv',
      '--http1.1',
      '-H',
      'expect: 100-continue',
      '-T',
      file('large'),
      url('http', '/up'),
    )
    assert.match(err, /HTTP\/1\.1 100 Continue/)
    assert.equal(out, `PUT /up ${large.length}\n`)
  })

  it('curl: a certificate from an unknown issuer is rejected', { skip: NO_CURL }, async () => {
    const { code } = await run(
      'curl',
      '-sS',
      '-k',
      '--resolve',
      `gateway.test:${ports.secured}:127.0.0.1`,
      url('https', '/a'),
    )
    assert.equal(code, 0)
    const plain = await run(
      'curl',
      '-sS',
      '--resolve',
      `gateway.test:${ports.secured}:127.0.0.1`,
      url('https', '/a'),
    )
    assert.equal(plain.code, 60)
  })

  it('nghttp: 50 requests at once, h2c and TLS, with padding and PUT', {
    skip: NO_NGHTTP,
  }, async () => {
    for (const target of [url('http', '/a'), `https://127.0.0.1:${ports.secured}/a`]) {
      const { out, code } = await run(
        'nghttp',
        '--no-verify-peer',
        '-H',
        ':authority: gateway.test',
        '-m',
        '50',
        '-b',
        '32',
        target,
      )
      assert.equal(code, 0)
      assert.equal(out.match(/GET \/a 0/g)?.length, 50)
    }
    const put = await run('nghttp', '-H', ':method: PUT', '-d', file('large'), url('http', '/up'))
    assert.equal(put.out, `PUT /up ${large.length}\n`)
  })

  it('h2load: 2,000 requests on 10 connections with 20 streams each', {
    skip: NO_H2LOAD,
  }, async () => {
    const { out } = await run('h2load', '-n', '2000', '-c', '10', '-m', '20', url('http', '/a'))
    assert.match(out, /2000 succeeded, 0 failed, 0 errored, 0 timeout/)
    assert.match(out, /status codes: 2000 2xx/)
  })

  it('wrk: no errors in one second of load', { skip: NO_WRK }, async () => {
    const { out } = await run('wrk', '-t', '1', '-c', '20', '-d', '1s', url('http', '/a'))
    assert.match(out, /[1-9]\d* requests in /)
    assert.doesNotMatch(out, /Socket errors|Non-2xx/)
  })

  describe('openssl s_client', () => {
    const connectTo = ['s_client', '-connect']

    /** Sends `text` once connected, and returns everything that it receives. */
    function client(text: string, ...flags: readonly string[]): Promise<string> {
      const address = `127.0.0.1:${ports.secured}`
      const args = [...connectTo, address, '-CAfile', file('ca.pem'), ...flags]
      const child = spawn('openssl', args, { stdio: ['pipe', 'pipe', 'pipe'] })
      let out = ''
      return new Promise((resolve) => {
        const timer = setTimeout(() => child.kill(), 15_000)
        child.stdin.on('error', () => {})
        for (const stream of [child.stdout, child.stderr])
          stream.on('data', (bytes) => (out += bytes))
        child.on('close', () => {
          clearTimeout(timer)
          resolve(out)
        })
        child.stdin.write(text)
        if (text === '') child.stdin.end()
      })
    }

    const GET = 'GET /a HTTP/1.1\r\nhost: gateway.test\r\nconnection: close\r\n\r\n'
    const NAME = ['-servername', 'gateway.test']

    for (const version of ['-tls1_2', '-tls1_3'] as const) {
      it(`${version}: a request by hand`, async () => {
        const out = await client(GET, ...NAME, '-quiet', version, '-verify_return_error')
        assert.match(out, /HTTP\/1\.1 200 OK[\s\S]*GET \/a 0/)
      })
    }

    it('ALPN prefers h2 over http/1.1, and reports the choice', async () => {
      assert.match(await client('', ...NAME, '-alpn', 'http/1.1,h2'), /ALPN protocol: h2/)
      assert.match(await client('', ...NAME, '-alpn', 'http/1.1'), /ALPN protocol: http\/1\.1/)
    })

    it('TLS 1.1 is rejected', async () => {
      const out = await client('', ...NAME, '-tls1_1', '-cipher', 'ALL:@SECLEVEL=0')
      assert.match(out, /alert protocol version|no protocols available|unsupported protocol/)
    })
  })
})
