import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import bcrypt from 'bcryptjs'
import { runWith } from '../../src/cli/fixtures/run.ts'
import { findCaddy } from './caddy.ts'
import { freePort, type Running, start, until } from './running.ts'

const CADDY = findCaddy()

/** One file, served by Caddy and, after conversion, by a gateway: both get the same requests. */
describe('convert from Caddy, beside Caddy', {
  skip: CADDY ? false : 'Caddy is neither installed nor can it be fetched',
}, () => {
  const folder = mkdtempSync(join(tmpdir(), 'convert-caddy-'))
  const backends: Server[] = []
  let [caddyPort, ownPort] = [0, 0]
  let caddy: ChildProcess | undefined
  let gateway: Running | undefined
  let said = ''

  before(async () => {
    for (const name of ['one', 'two']) {
      const server = createServer(({ url, headers }, response) => {
        response.end(`${name} ${url} ${headers.host} ${headers['x-set'] ?? '-'}`)
      }).listen(0, '127.0.0.1')
      await new Promise((resolve) => server.once('listening', resolve))
      backends.push(server)
    }
    const [one, two] = backends.map((server) => (server.address() as AddressInfo).port)
    ;[caddyPort, ownPort] = [await freePort(), await freePort()]
    const hash = bcrypt.hashSync('secret', 4)
    const text = (port: number) => `
http://plain.test:${port} {
  handle /exact {
    respond "short" 418
  }
  handle_path /api/* {
    reverse_proxy 127.0.0.1:${two}
  }
  handle /there {
    redir http://other.test/x 302
  }
  handle /moved {
    redir http://other.test/y permanent
  }
  handle /login/* {
    basicauth {
      ada ${hash}
    }
    reverse_proxy 127.0.0.1:${two}
  }
  handle /seen/* {
    header x-seen 1
    reverse_proxy 127.0.0.1:${two}
  }
  handle {
    reverse_proxy 127.0.0.1:${one}
  }
}
http://other.test:${port} {
  respond "other" 200
}
`
    const options = `{\n  admin off\n  auto_https off\n}\n`
    writeFileSync(join(folder, 'Caddyfile'), options + text(caddyPort))
    writeFileSync(join(folder, 'source.Caddyfile'), text(ownPort))
    const output = join(folder, 'gateway.yaml')
    const converted = await runWith([
      'convert',
      '--from',
      'caddy',
      join(folder, 'source.Caddyfile'),
      '-o',
      output,
    ])
    said = converted.out + converted.err
    const readiness = await freePort()
    const settings = `config: { workers: 1, adminAddr: off, statsAddr: off, readinessAddr: '127.0.0.1:${readiness}' }\n`
    writeFileSync(output, settings + readFileSync(output, 'utf8'))
    const config = ['--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile']
    const environment = { PATH: process.env['PATH'] ?? '', HOME: folder, XDG_DATA_HOME: folder }
    caddy = spawn(CADDY as string, ['run', ...config], { stdio: 'ignore', env: environment })
    gateway = start('run', '-f', output)
    const responds = (port: number) =>
      send(port, {}).then(
        ({ status }) => status > 0,
        () => false,
      )
    await until('Caddy', () => responds(caddyPort))
    await until('the gateway', () => responds(ownPort)).catch(() => assert.fail(gateway?.out()))
  })
  after(async () => {
    caddy?.kill()
    gateway?.child.kill()
    await gateway?.exit
    for (const server of backends) server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  interface Sent {
    readonly path?: string
    readonly host?: string
    readonly user?: string
  }

  function send(port: number, { path = '/', host = 'plain.test', user }: Sent) {
    const options = { host: '127.0.0.1', port, path, headers: { host }, agent: false }
    return new Promise<{ status: number; location: string; seen: string; body: string }>(
      (resolve, reject) => {
        request({ ...options, ...(user === undefined ? {} : { auth: user }) }, (response) => {
          let body = ''
          response.on('data', (bytes) => (body += bytes))
          response.on('end', () => {
            const { location = '', 'x-seen': seen } = response.headers
            resolve({ status: response.statusCode ?? 0, location, seen: String(seen ?? ''), body })
          })
        })
          .once('error', reject)
          .end()
      },
    )
  }

  it('reports that each prefix also matches the path itself', () => {
    for (const path of ['/api', '/login', '/seen']) {
      assert.ok(said.includes(`also matches ${path} itself`), said)
    }
  })

  const requests: readonly Sent[] = [
    {},
    { path: '/a/b?c=d' },
    { path: '/exact' },
    { path: '/exact/more' },
    { path: '/api/x?y=1' },
    { path: '/api/' },
    { path: '/apix' },
    { path: '/there' },
    { path: '/there?a=b' },
    { path: '/moved' },
    { path: '/login/x' },
    { path: '/login/x', user: 'ada:secret' },
    { path: '/login/x', user: 'ada:wrong' },
    { path: '/login/x', user: 'eve:secret' },
    { path: '/seen/x' },
    { host: 'other.test' },
    { host: 'other.test', path: '/anything' },
    { host: 'PLAIN.test', path: '/exact' },
  ]
  for (const sent of requests) {
    it(`does the same for ${JSON.stringify(sent)}`, async () => {
      const [theirs, own] = await Promise.all([send(caddyPort, sent), send(ownPort, sent)])
      // Without credentials, each gateway returns its own error page.
      const comparable = (one: typeof own) => (one.status === 401 ? { status: 401 } : one)
      assert.deepEqual(comparable(own), comparable(theirs))
    })
  }
})
