import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { parse } from 'yaml'
import { runWith } from './fixtures/run.ts'

const folder = mkdtempSync(join(tmpdir(), 'convert-wild-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** Configuration files as found on real servers, with everything in them. */
async function converted(name: string, text: string) {
  const file = join(folder, name)
  writeFileSync(file, text)
  const { out, err } = await runWith(['convert', file])
  const output = join(folder, `${name}.yaml`)
  writeFileSync(output, out)
  const checked = JSON.parse((await runWith(['check', '--json', output])).out)
  const problems = checked.diagnostics as { severity: string; code: string; message: string }[]
  // Certificates and password files are missing here.
  const errors = problems.filter((one) => one.severity === 'error' && one.code !== 'PC0310')
  assert.deepEqual(errors, [], out)
  const lost = err.split('\n').filter((line) => line.startsWith('  '))
  assert.equal(new Set(lost).size, lost.length, 'the same twice')
  const document = parse(out)
  const routes = new Map<string, Record<string, unknown>>(
    document.routes.map((one: { name: string }) => [one.name, one]),
  )
  const denies = (route: string) =>
    JSON.stringify((routes.get(route)?.['policies'] as object | undefined) ?? {}).includes(
      '"deny":"true"',
    )
  return { document, routes, denies, lost: lost.join('\n') }
}

const NGINX = `user nginx;
events { worker_connections 1024; }
http {
  include mime.types;
  sendfile on;
  gzip on;
  map $http_upgrade $connection_upgrade { default upgrade; '' close; }
  upstream app { server 10.0.0.1:8080; server 10.0.0.2:8080; }
  server { listen 80; server_name example.com; return 301 https://$host$request_uri; }
  server {
    listen 443 ssl http2;
    server_name example.com www.example.com;
    ssl_certificate /etc/ssl/example.crt;
    ssl_certificate_key /etc/ssl/example.key;
    location / {
      proxy_pass http://app;
      proxy_set_header Host $host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
    }
    location /api/ { allow 10.0.0.0/8; deny all; proxy_pass http://app; }
    location /secret/ { if ($blocked) { return 403; } proxy_pass http://app; }
    location /inc/ { include /etc/nginx/guard.conf; proxy_pass http://app; }
  }
}
`

const CADDY = `{
	email admin@example.com
}

(common) {
	encode zstd gzip
	header {
		Strict-Transport-Security "max-age=31536000;"
		-Server
	}
}

example.com, www.example.com {
	import common
	@api path /api/*
	handle @api {
		reverse_proxy localhost:9000 localhost:9001 {
			lb_policy round_robin
			health_uri /healthz
			header_up X-Real-IP {remote_host}
		}
	}
	handle /odd/* {
		reverse_proxy app:3000 {
			header_up Authorization "Bearer {env.TOKEN}"
		}
	}
	handle {
		reverse_proxy app:3000
	}
}
`

describe('convert, with real-world files', () => {
  it('nginx.conf: common directives deny nothing, and the result is accepted', async () => {
    const { document, denies, lost } = await converted('nginx.conf', NGINX)
    assert.deepEqual(Object.keys(document.gateways), ['port-80', 'port-443'])
    assert.equal(denies('all'), false)
    assert.equal(denies('api'), false)
    assert.deepEqual(document.routes[0].policies.compression, { algorithms: ['gzip'] })
    assert.match(lost, /include mime\.types: no equivalent/)
    assert.match(lost, /map \$http_upgrade/)
  })

  it('nginx.conf: a deciding variable and an included file still deny', async () => {
    const { denies } = await converted('nginx.conf', NGINX)
    assert.equal(denies('secret'), true)
    assert.equal(denies('inc'), true)
  })

  it('Caddyfile: snippets, path matchers and proxy options', async () => {
    const { document, routes, denies, lost } = await converted('Caddyfile', CADDY)
    const [api, odd, rest] = [...routes.keys()]
    assert.deepEqual(
      [api, odd, rest].map((name) => denies(name ?? '')),
      [false, true, false],
    )
    const route = routes.get(api ?? '') as { matches: unknown; policies: Record<string, unknown> }
    assert.deepEqual(route.matches, [{ path: { pathPrefix: '/api' } }])
    assert.deepEqual(route.policies['responseHeaders'], {
      set: { 'strict-transport-security': 'max-age=31536000;' },
      remove: ['server'],
    })
    assert.match(lost, /health_uri \/healthz: no equivalent/)
    assert.match(lost, /^ {2}\S+Caddyfile:1: \{ … \}: global options are not converted$/m)
    // The site is converted, but cannot start until its certificate exists.
    assert.deepEqual(document.gateways['port-443'].listeners[0].tls, {
      cert: 'certs/example-com.crt',
      key: 'certs/example-com.key',
    })
    assert.match(lost, /put one into certs\/example-com\.crt and certs\/example-com\.key/)
  })

  it('Caddyfile: a snippet that imports itself is an error', async () => {
    const file = join(folder, 'Caddyfile')
    writeFileSync(file, '(a) {\n import a\n}\n:80 {\n import a\n}\n')
    const { code, err } = await runWith(['convert', file])
    assert.equal(code, 1)
    assert.match(err, /`a` imports itself/)
  })
})
