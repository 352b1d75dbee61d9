import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { runWith } from '../../src/cli/fixtures/run.ts'
import { freePort, until } from '../cli/running.ts'
import { PORTCULLIS } from '../programs.ts'
import { BACKEND, CANARIES, hitsIn, type Kind, LISTENER } from './canaries.ts'
import { type StoredGateway, startGateway } from './gateways.ts'
import { SKIPPED, startServer, type TestServer } from './postgres.ts'

const TOKEN = CANARIES['bearer token of the admin API']

const ENVIRONMENT = {
  OIDC_COOKIE_SECRET: CANARIES['cookie secret'],
  SESSION_KEY: CANARIES['session key'],
  PORTCULLIS_STORAGE_KEY: CANARIES['storage key'],
  PORTCULLIS_ADMIN_TOKEN: TOKEN,
  MODEL_ACCESS: CANARIES['provider key in the environment'],
}

const OIDC = {
  issuer: 'http://127.0.0.1:1',
  clientId: 'gateway',
  clientSecret: CANARIES['client secret of OIDC'],
}

const inline = (pem: string) => JSON.stringify({ inline: pem })

const ROUTES = `- name: home
  matches: [{ path: { exact: /home } }]
  policies:
    requestHeaders: { set: { authorization: "Bearer ${CANARIES['bearer token that is sent on']}" } }
    backendAuth: { key: "${CANARIES['provider key in the file']}" }
    backendTLS: { cert: ${inline(BACKEND.cert)}, key: ${inline(BACKEND.key)}, insecure: true }
  backends: [{ host: "127.0.0.1:1" }]
- name: keys
  matches: [{ path: { pathPrefix: /keys } }]
  policies:
    apiKey: { keys: [{ key: "${CANARIES['API key of a client']}", metadata: { team: a } }] }
    authorization: { rules: [{ allow: "request.headers['authorization'] == 'x' || apiKey.team == 'b'" }] }
    directResponse: { status: 200 }
- name: tokens
  matches: [{ path: { pathPrefix: /tokens } }]
  policies:
    jwtAuth:
      mode: Strict
      issuer: http://127.0.0.1:1
      audiences: [a]
      jwks: { inline: '{"keys":[]}' }
    directResponse: { status: 200 }
- name: people
  matches: [{ path: { pathPrefix: /people } }]
  policies:
    basicAuth: { users: ["alice:{SHA}${Buffer.alloc(20).toString('base64')}"] }
    directResponse: { status: 200 }
- name: signed-in
  matches: [{ path: { pathPrefix: /app } }]
  policies:
    oidc:
      issuer: ${OIDC.issuer}
      clientId: gateway
      clientSecret: "${OIDC.clientSecret}"
      redirectUri: http://127.0.0.1:8080/app/callback
    directResponse: { status: 200 }
llm:
  gateways: default
  models:
  - { name: of-file, provider: openAI, params: { apiKey: "${CANARIES['provider key in the file']}" } }
  - { name: of-variable, provider: openAI, params: { apiKey: "$MODEL_ACCESS" } }
`

const STORED = {
  name: 'stored',
  matches: [{ path: { exact: '/stored' } }],
  backends: [
    {
      host: '127.0.0.1:1',
      policies: { backendAuth: { key: CANARIES['provider key that is stored'] } },
    },
  ],
}

/** No secret of any kind appears anywhere that a gateway writes. */
describe('secrets', { skip: SKIPPED }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-canaries-'))
  const stateFile = join(folder, 'state.json')
  let server: TestServer
  let database: string
  let gateway: StoredGateway

  const authorized = { authorization: `Bearer ${TOKEN}` }
  const api = (method: string, path: string, body?: unknown, more: object = {}) =>
    gateway.api(method, path, body, { ...authorized, ...more })

  before(async () => {
    server = await startServer()
    const plain = await server.database()
    const password = CANARIES['PostgreSQL password']
    await server.query(`create role canary superuser login password '${password}'`)
    database = plain.replace(/^postgres(ql)?:\/\/[^@/]*@/, `postgres://canary:${password}@`)
    assert.notEqual(database, plain)
    gateway = await startGateway(database, {
      environment: ENVIRONMENT,
      routes: ROUTES,
      stateFile,
      config: {
        logging: { level: 'trace' },
        decisions: { allowed: 1, show: ['request'] },
        adminAuth: {
          oidc: { ...OIDC, redirectUri: 'http://127.0.0.1:15000/api/auth/callback' },
          roles: { viewer: 'true', editor: 'true', admin: 'true' },
        },
      },
    })
    const secure = {
      port: await freePort(),
      listeners: [
        {
          name: 'secure',
          protocol: 'HTTPS',
          tls: { cert: { inline: LISTENER.cert }, key: { inline: LISTENER.key } },
        },
      ],
    }
    for (const [path, value] of [
      ['routes/stored', STORED],
      ['gateways/secure', secure],
    ] as const) {
      const reply = await api('PUT', `/config/resources/${path}`, value)
      assert.equal(reply.status, 200, reply.text)
    }
    await until('what is stored is served', async () => (await gateway.get('/stored')) > 404)
    await sendTraffic()
  })

  after(async () => {
    await gateway?.remove()
    await server?.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  /**
   * Sends allowed, denied, unknown and malformed requests, and some without a backend; all with
   * credentials.
   */
  async function sendTraffic(): Promise<void> {
    const token = CANARIES['bearer token of a client']
    const password = CANARIES['password of a user']
    const credentials = [
      { authorization: `Bearer ${token}` },
      { authorization: `Bearer eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.${token}` },
      { authorization: `Bearer ${CANARIES['API key of a client']}` },
      { authorization: `Basic ${Buffer.from(`alice:${password}`).toString('base64')}` },
      { cookie: `session=${token}; other=${password}`, 'x-api-key': token },
      { 'x-auth-token': token, accept: 'text/html' },
    ]
    for (const path of [
      '/home',
      '/keys/1',
      '/tokens/1',
      '/people',
      '/app',
      '/none',
      '/v1/models',
    ]) {
      for (const headers of credentials) {
        const url = `http://127.0.0.1:${gateway.port}${path}?access_token=${token}&password=${password}`
        const reply = await fetch(url, { headers, redirect: 'manual' })
        received.push(`${reply.status} ${JSON.stringify([...reply.headers])} ${await reply.text()}`)
      }
    }
    const call = JSON.stringify({ model: 'of-file', messages: [{ role: 'user', content: 'x' }] })
    const reply = await fetch(`http://127.0.0.1:${gateway.port}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: call.replace('of-file', 'no-such-model'),
    })
    received.push(await reply.text())
    received.push(
      await raw(`GET /home HTTP/1.1\r\nAuthorization: Bearer ${token}\r\nbad header\r\n\r\n`),
    )
    received.push(await raw(`GET /home HTTP/1.1\r\nHost: a\r\nHost: b\r\nCookie: ${token}\r\n\r\n`))
  }
  const received: string[] = []

  function raw(text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      let said = ''
      const socket = connect(gateway.port, '127.0.0.1', () => socket.end(text))
      socket.on('data', (bytes) => (said += bytes))
      socket.on('close', () => resolve(said))
      socket.on('error', reject)
    })
  }

  async function everyGet(): Promise<string> {
    const { json: document } = await api('GET', '/openapi.json')
    const paths = Object.entries(document['paths'] as Readonly<Record<string, Operations>>)
    const { json } = await api('GET', '/config/resources')
    const resources = json['resources'] as readonly Readonly<Record<'kind' | 'id', string>>[]
    const { json: known } = await api('GET', '/decisions?limit=1000')
    const ids = new Set((known['decisions'] as readonly { id: string }[]).map(({ id }) => id))
    assert.ok(resources.length >= 8 && ids.size > 10, `${resources.length} ${ids.size}`)
    let all = ''
    let count = 0
    for (const [path, { get }] of paths) {
      if (get === undefined || path.endsWith('/tail')) continue
      count++
      const own = path.replace('/api', '')
      const filled = own.includes('{kind}')
        ? resources.map(({ kind, id }) =>
            own.replace('{kind}', kind).replace('{id}', encodeURIComponent(id)),
          )
        : own.includes('{id}')
          ? [...ids]
              .slice(0, own.endsWith('/explain') ? 2 : 100)
              .map((id) => own.replace('{id}', id))
          : [own]
      const hasFormat = get.parameters.some(({ name }) => name === 'format')
      for (const one of hasFormat ? filled.flatMap((p) => [p, `${p}?format=yaml`]) : filled) {
        const reply = await api('GET', one)
        // What reached no listener has no rules that could be explained.
        const expected = one.endsWith('/explain') ? [200, 422] : [200, 409, 503]
        assert.ok(expected.includes(reply.status), `${one}: ${reply.text}`)
        all += reply.text
      }
    }
    assert.ok(count >= 18, String(count))
    return all
  }

  /** Error messages about invalid changes that contain secrets. */
  async function errorsOfTheApi(): Promise<string> {
    const wrong = { ...STORED, backends: [{ ...STORED.backends[0], nonsense: 1 }] }
    const tls = { inline: `${LISTENER.key}x` }
    const replies = await Promise.all([
      api('PUT', '/config/resources/routes/stored', STORED),
      api('PUT', '/config/resources/routes/stored', STORED, { 'if-match': '"1-x"' }),
      api('PUT', '/config/resources/routes/stored', wrong, { 'if-match': '*' }),
      api('PUT', '/config/resources/routes/other', STORED),
      api('PUT', '/config/resources/gateways/broken', {
        port: 1,
        listeners: [{ name: 'x', protocol: 'HTTPS', tls: { cert: tls, key: tls } }],
      }),
      api('POST', '/config/validate', {
        changes: [{ action: 'set', kind: 'routes', id: 'stored', value: wrong }],
      }),
      api('POST', '/policies/diff', {
        changes: [{ action: 'delete', kind: 'routes', id: 'home' }],
      }),
      api('POST', '/policies/lint', {}),
      api('POST', '/policies/explain', { request: 'GET /home' }),
      gateway.api('GET', '/config', undefined, { authorization: `Bearer ${TOKEN}x` }),
      gateway.api('GET', '/auth/login'),
      gateway.api('GET', '/auth/callback?state=x&code=y'),
      api('GET', '/config/history?limit=1000'),
      api('GET', `/config/resources/routes/${TOKEN.slice(0, 4)}`),
    ])
    assert.ok(replies.filter(({ status }) => status >= 400).length >= 8)
    return replies.map(({ status, text }) => `${status} ${text}`).join('\n')
  }

  async function commands(): Promise<string> {
    const { admin, file } = gateway
    const environment = ENVIRONMENT
    let all = ''
    for (const args of [
      ['why', '--verdict=any', '--limit=100', '--admin', admin],
      ['why', '--verdict=any', '--limit=100', '--json', '--admin', admin],
      ['effective', '--admin', admin],
      ['lint', '--admin', admin],
      ['validate', '--admin', admin],
      ['config', 'get', '--admin', admin],
      ['config', 'get', 'routes/stored', '--admin', admin],
      ['config', 'edits', '--admin', admin],
      ['config', 'fields', 'routes/stored', '--admin', admin],
      ['config', 'history', '--json', '--admin', admin],
      ['effective', file, '--json'],
      ['validate', file],
      ['lint', file],
      ['explain', file, '--request', 'GET /home', '--json'],
    ]) {
      const { out, err } = await runWith(args, { environment })
      assert.ok(out.length > 10, `${args[0]}: ${err}`)
      all += out + err
    }
    return all
  }

  /** Output of gateways that cannot start. */
  function failedStarts(): string {
    const broken = join(folder, 'broken.yaml')
    const key = CANARIES['provider key in the file']
    const password = CANARIES['PostgreSQL password']
    const start = (environment: Readonly<Record<string, string>>, text: string) => {
      writeFileSync(broken, text)
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [PORTCULLIS, 'run', '-f', broken],
        {
          encoding: 'utf8',
          timeout: 60_000,
          env: { PATH: process.env['PATH'], ...environment },
        },
      )
      assert.equal(status, 1, stderr)
      return stdout + stderr
    }
    const own = readFileSync(gateway.file, 'utf8')
    return [
      start({ ...ENVIRONMENT, OIDC_COOKIE_SECRET: `${CANARIES['cookie secret']}0` }, own),
      start({ ...ENVIRONMENT, SESSION_KEY: `${CANARIES['session key']}0` }, own),
      start({ ...ENVIRONMENT, PORTCULLIS_STORAGE_KEY: `${CANARIES['storage key']}0` }, own),
      start(
        {},
        `config: { storage: { mode: database }, database: { url: "mysql://u:${password}@db/x", x: 1 } }
gateways: { default: { port: 0, listeners: [{ name: a, protocol: HTTPS, tls: { cert: ${inline(LISTENER.cert)}, key: ${inline(LISTENER.key)}, x: 1 } }] } }
routes: [{ policies: { backendAuth: { key: ["${key}"] }, x: 1 }, backends: [{ host: "b:80", policies: { backendAuth: { key: "${key}", y: 2 } } }] }]
`,
      ),
    ].join('\n')
  }

  const OUTPUTS: Readonly<Record<string, () => Promise<string> | string>> = {
    'the log, down to trace': () => gateway.out(),
    'responses to clients': () => received.join('\n'),
    'every GET of the admin API': everyGet,
    'errors and analyses of the admin API': errorsOfTheApi,
    'the dump of the configuration': async () =>
      (await fetch(`${gateway.admin}/config_dump`, { headers: authorized })).text(),
    metrics: () => gateway.metrics(),
    readiness: () => gateway.ready(),
    'commands that look at the gateway and its file': commands,
    'starts that fail': failedStarts,
    'the state file': () => readFileSync(stateFile, 'utf8'),
    'the tables of the database': async () => {
      const rows = await Promise.all(
        ['resources', 'history', 'changes', 'decisions'].map((table) =>
          server.query(
            `select row_to_json(t)::text as row from portcullis_${table} t`,
            [],
            database,
          ),
        ),
      )
      return JSON.stringify(rows)
    },
    'the log after all of it, and after a loss of the database': async () => {
      await server.stop('SIGKILL')
      await until('it is noticed', () =>
        /"?level"?[=:]"?warn.*storage|warn\s+storage/.test(gateway.out()),
      )
      const reply = await api('PUT', '/config/resources/routes/late', { ...STORED, name: 'late' })
      assert.equal(reply.status, 503)
      await gateway.kill('SIGTERM')
      return `${reply.text}${gateway.out()}`
    },
  }

  it('are found by the search in every encoding', () => {
    for (const [kind, secret] of Object.entries(CANARIES) as readonly (readonly [Kind, string])[]) {
      for (const text of [
        `x${secret}y`,
        Buffer.from(`Basic user:${secret}`).toString('base64'),
        Buffer.from(`{"a":"${secret}"}`).toString('base64url'),
        Buffer.from(secret).toString('hex'),
      ]) {
        assert.deepEqual(hitsIn(text), [kind])
      }
    }
    assert.deepEqual(hitsIn(LISTENER.key), ['TLS key of a listener'])
  })

  for (const [output, read] of Object.entries(OUTPUTS)) {
    it(`are not in ${output}`, async () => {
      const text = await read()
      assert.ok(text.length > 5, 'there is nothing to look at')
      assert.deepEqual(hitsIn(text), [])
    })
  }
})

type Operations = Readonly<
  Partial<Record<'get', { readonly parameters: readonly { readonly name: string }[] }>>
>
