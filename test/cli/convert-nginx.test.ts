import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { runWith } from '../../src/cli/fixtures/run.ts'
import { freePort, type Running, start, until } from './running.ts'

const NGINX = ['/usr/sbin/nginx', '/usr/local/sbin/nginx', '/usr/bin/nginx'].find(
  (file) => spawnSync(file, ['-v']).status === 0,
)

/** One file, served by nginx and, after conversion, by a gateway: both get the same requests. */
describe('convert from nginx, beside nginx', {
  skip: NGINX ? false : 'nginx is not installed',
}, () => {
  const folder = mkdtempSync(join(tmpdir(), 'convert-nginx-'))
  const backends: Server[] = []
  let [nginxPort, ownPort] = [0, 0]
  let nginx: ChildProcess
  let gateway: Running

  before(async () => {
    for (const name of ['one', 'two']) {
      const server = createServer(({ url, headers }, response) => {
        response.end(`${name} ${url} ${headers.host} ${headers['x-set'] ?? '-'}`)
      }).listen(0, '127.0.0.1')
      await new Promise((resolve) => server.once('listening', resolve))
      backends.push(server)
    }
    const [one, two] = backends.map((server) => (server.address() as AddressInfo).port)
    ;[nginxPort, ownPort] = [await freePort(), await freePort()]
    const digest = createHash('sha1').update('secret').digest('base64')
    writeFileSync(join(folder, 'users'), `ada:{SHA}${digest}\n`)
    // The workers of nginx run as another user.
    chmodSync(folder, 0o755)
    const text = (port: number) => `
pid ${folder}/pid; error_log ${folder}/error.log; daemon off;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path ${folder}/b; proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f;
  uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
  server {
    listen 127.0.0.1:${port} default_server;
    server_name plain.test;
    location / { proxy_pass http://127.0.0.1:${one}; proxy_set_header Host $host; }
    location /api/ { proxy_pass http://127.0.0.1:${two}/v1/; proxy_set_header x-set yes; add_header x-seen 1; }
    location = /exact { return 418 'short'; }
    location = /away { return 301 https://$host$request_uri; }
    location = /there { return 302 http://other.test/x; }
    location /in/ { allow 127.0.0.2; deny all; proxy_pass http://127.0.0.1:${two}; }
    location /out/ { deny 127.0.0.2; proxy_pass http://127.0.0.1:${two}; }
    location /login/ {
      auth_basic "here"; auth_basic_user_file ${folder}/users;
      proxy_pass http://127.0.0.1:${two};
    }
  }
  server {
    listen 127.0.0.1:${port};
    server_name ordered.test;
    location /guarded { deny all; proxy_pass http://127.0.0.1:${two}; }
    location ~ \\.php$ { return 403 'no scripts'; }
    location ^~ /files/ { proxy_pass http://127.0.0.1:${two}; }
    location ~* ^/IMAGES/ { return 200 'image'; }
    location / { proxy_pass http://127.0.0.1:${one}; }
  }
  server { listen 127.0.0.1:${port}; server_name *.gone.test; return 410; }
}
`
    writeFileSync(join(folder, 'nginx.conf'), text(nginxPort))
    writeFileSync(join(folder, 'source.conf'), text(ownPort))
    const output = join(folder, 'gateway.yaml')
    await runWith(['convert', join(folder, 'source.conf'), '-o', output])
    const readiness = await freePort()
    const settings = `config: { workers: 1, adminAddr: off, statsAddr: off, readinessAddr: '127.0.0.1:${readiness}' }\n`
    writeFileSync(output, settings + readFileSync(output, 'utf8'))
    nginx = spawn(NGINX as string, ['-c', join(folder, 'nginx.conf'), '-p', folder])
    gateway = start('run', '-f', output)
    const responds = (port: number) =>
      send(port, {}).then(
        ({ status }) => status > 0,
        () => false,
      )
    await until('nginx', () => responds(nginxPort))
    await until('the gateway', () => responds(ownPort)).catch(() => assert.fail(gateway.out()))
  })
  after(async () => {
    nginx?.kill()
    gateway?.child.kill()
    await gateway?.exit
    for (const server of backends) server.close()
    rmSync(folder, { recursive: true, force: true })
  })

  interface Sent {
    readonly path?: string
    readonly host?: string
    readonly from?: string
    readonly user?: string
  }

  function send(port: number, { path = '/', host = 'plain.test', from = '127.0.0.1', user }: Sent) {
    const options = {
      host: '127.0.0.1',
      port,
      path,
      localAddress: from,
      headers: { host },
      agent: false,
    }
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

  const requests: readonly Sent[] = [
    {},
    { path: '/a/b?c=d' },
    { host: 'unknown.test' },
    { path: '/api/x?y=1' },
    { path: '/api' },
    { path: '/api/' },
    { path: '/apix' },
    { path: '/exact' },
    { path: '/exact/more' },
    { path: '/away?a=b' },
    { path: '/there' },
    { path: '/there?a=b' },
    { path: '/in/x' },
    { path: '/in/x', from: '127.0.0.2' },
    { path: '/in' },
    { path: '/out/x' },
    { path: '/out/x', from: '127.0.0.2' },
    { path: '/login/x' },
    { path: '/login/x', user: 'ada:secret' },
    { path: '/login/x', user: 'ada:wrong' },
    { host: 'ordered.test', path: '/guarded' },
    { host: 'ordered.test', path: '/guardedx' },
    { host: 'ordered.test', path: '/guarded/x' },
    { host: 'ordered.test', path: '/a.php' },
    { host: 'ordered.test', path: '/a.phpx' },
    { host: 'ordered.test', path: '/files/a.php' },
    { host: 'ordered.test', path: '/images/a' },
    { host: 'ordered.test', path: '/Images/a.php' },
    { host: 'ordered.test', path: '/else' },
    { host: 'a.gone.test', path: '/x' },
  ]
  for (const sent of requests) {
    it(`${JSON.stringify(sent)} gets the same`, async () => {
      const [there, here] = await Promise.all([send(nginxPort, sent), send(ownPort, sent)])
      assert.equal(here.status, there.status)
      const plain = (text: string) => text.replace(/(plain\.test|127\.0\.0\.1):\d+/, '$1')
      // If a backend or the file defines the response, both responses are identical.
      assert.equal(
        plain(here.location).replace(/^http:\/\/plain\.test/, ''),
        plain(there.location).replace(/^http:\/\/plain\.test/, ''),
      )
      const isOwnPage = there.body.includes('<html>')
      if (!isOwnPage) {
        assert.equal(here.body, there.body)
        assert.equal(here.seen, there.seen)
      }
    })
  }
})
