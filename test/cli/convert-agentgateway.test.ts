import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { stringify } from 'yaml'
import { runWith } from '../../src/cli/fixtures/run.ts'
import {
  keySetText,
  signerOf,
  tokenOf,
} from '../../src/policies/jwt-authentication/fixtures/tokens.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'

const SIGNER = signerOf('ES256')
const good = (claims: object) => tokenOf(SIGNER, { exp: 4_000_000_000, ...claims })
const JWT = {
  issuer: 'https://issuer.example',
  audiences: ['a'],
  jwks: keySetText(SIGNER),
}

/**
 * agentgateway files with the behavior that its documentation describes; served here after
 * conversion.
 */
describe('convert from agentgateway, by responses', () => {
  const folder = mkdtempSync(join(tmpdir(), 'convert-agentgateway-'))
  let backend: Server
  let running: Deciding | undefined
  let port = 0
  let own = 0

  before(async () => {
    backend = createServer(({ headers, url }, response) => {
      response.end(`${headers.host} ${url}`)
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => backend.once('listening', resolve))
    own = (backend.address() as AddressInfo).port
    port = await freePort()
  })

  after(async () => {
    await running?.stop()
    backend?.close()
    backend?.closeAllConnections()
    rmSync(folder, { recursive: true, force: true })
  })

  async function serve(routes: readonly object[], more: object = {}) {
    const file = join(folder, 'config.yaml')
    const output = join(folder, 'gateway.yaml')
    const text = stringify({ ...more, binds: [{ port, listeners: [{ routes }] }] })
    writeFileSync(file, text)
    const { err, code } = await runWith(['convert', file, '-o', output])
    const written = readFileSync(output, 'utf8')
    if (running === undefined) running = await startDeciding(written)
    else await running.apply(written)
    return { err, code }
  }

  async function get(path = '/', headers: Readonly<Record<string, string>> = {}) {
    return new Promise<{ status: number; text: string }>((resolve, reject) => {
      request({ host: '127.0.0.1', port, path, headers: { host: 'client.test', ...headers } })
        .on('response', (response) => {
          let text = ''
          response.on('data', (piece) => (text += piece))
          response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
        })
        .on('error', reject)
        .end()
    })
  }
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

  for (const [mode, none, wrong] of [
    [undefined, 200, 401],
    ['optional', 200, 401],
    ['strict', 401, 401],
    ['permissive', 200, 200],
  ] as const) {
    it(`tokens are ${mode ?? 'optional without a word'}`, async () => {
      const jwtAuth = mode === undefined ? JWT : { ...JWT, mode }
      const { code } = await serve([
        { policies: { jwtAuth }, backends: [{ host: `127.0.0.1:${own}` }] },
      ])
      assert.equal(code, 0)
      assert.equal((await get()).status, none)
      assert.equal((await get('/', bearer(good({ aud: 'a' })))).status, 200)
      assert.equal((await get('/', bearer(good({ aud: 'b' })))).status, wrong)
      assert.equal((await get('/', bearer('no.token.atall'))).status, wrong)
    })
  }

  it('unsupported settings are reported even if a variable is not set', async () => {
    const file = join(folder, 'variables.yaml')
    const route = {
      backends: [{ host: '$BACKEND_HOST:80' }],
      policies: { backendAuth: { key: '$KEY_OF_BACKEND' }, mcpGuardrails: { host: 'x:9000' } },
    }
    writeFileSync(file, stringify({ binds: [{ port, listeners: [{ routes: [route] }] }] }))
    const { err } = await runWith(['convert', file, '-o', join(folder, 'variables.out.yaml')])
    assert.match(err, /mcpGuardrails/)
    const written = readFileSync(join(folder, 'variables.out.yaml'), 'utf8')
    assert.ok(!written.includes('mcpGuardrails') && written.includes('$KEY_OF_BACKEND'))
  })

  it('one matching rule is enough, and a deny rule overrides it', async () => {
    const rules = [
      `jwt.sub == 'alice'`,
      { allow: `request.path == '/open'` },
      { deny: `request.headers['x-bad'] == '1'` },
    ]
    await serve([
      {
        policies: { jwtAuth: JWT, authorization: { rules } },
        backends: [{ host: `127.0.0.1:${own}` }],
      },
    ])
    for (const [path, sub, headers, expected] of [
      ['/', 'alice', {}, 200],
      ['/', 'bob', {}, 403],
      ['/', undefined, {}, 403],
      ['/open', undefined, {}, 200],
      ['/open', 'alice', { 'x-bad': '1' }, 403],
      ['/open', 'alice', { 'x-bad': '2' }, 200],
    ] as const) {
      const token = sub === undefined ? {} : bearer(good({ aud: 'a', sub }))
      const { status } = await get(path, { ...headers, ...token })
      assert.equal(status, expected, `${path} ${sub} ${JSON.stringify(headers)}`)
    }
  })

  it('keys are optional by default', async () => {
    const apiKey = { keys: [{ key: 'sk-1', metadata: { team: 'a' } }] }
    await serve([{ policies: { apiKey }, backends: [{ host: `127.0.0.1:${own}` }] }])
    assert.equal((await get()).status, 200)
    assert.equal((await get('/', bearer('sk-1'))).status, 200)
    assert.equal((await get('/', bearer('sk-2'))).status, 401)
  })

  it('a backend gets its own name, unless the route says otherwise', async () => {
    const matches = (pathPrefix: string) => [{ path: { pathPrefix } }]
    await serve([
      { name: 'n', matches: matches('/named'), backends: [{ host: `localhost:${own}` }] },
      {
        name: 'w',
        matches: matches('/written'),
        policies: { urlRewrite: { authority: { full: 'other.test' } } },
        backends: [{ host: `localhost:${own}` }],
      },
    ])
    assert.equal((await get('/named')).text, `localhost:${own} /named`)
    assert.equal((await get('/written')).text, 'other.test /written')
  })

  it('older spellings of tracing and logging are carried over', async () => {
    const config = {
      tracing: {
        otlpEndpoint: 'http://127.0.0.1:9/otlp',
        otlpProtocol: 'http',
        randomSampling: true,
        fields: { add: { team: `request.headers['x-team']` }, remove: ['http.host'] },
      },
      logging: { level: 'info', fields: { add: { seen: 'request.path' } } },
    }
    const { code, err } = await serve([{ backends: [{ host: `127.0.0.1:${own}` }] }], { config })
    assert.deepEqual([code, err], [0, ''])
    await get('/told')
    assert.match(String(running?.lines.find((line) => line.includes('/told'))), /seen=\/told/)
  })
})

const SAMPLE = {
  config: { logging: { level: 'info' } },
  frontendPolicies: {
    http: { maxBufferSize: 100_000 },
    networkAuthorization: { rules: [`cidr('127.0.0.0/8').containsIP(source.address)`] },
  },
  binds: [
    {
      port: 3000,
      listeners: [
        {
          name: 'a',
          routes: [
            {
              name: 'first',
              matches: [{ path: { pathPrefix: '/a' }, method: 'GET' }],
              policies: { authorization: { rules: [{ allow: 'true' }] }, timeout: {} },
              backends: [{ host: '127.0.0.1:9', policies: { backendAuth: { key: 'k' } } }],
            },
          ],
        },
      ],
    },
  ],
  backends: [{ name: 'shared', host: '127.0.0.1:9' }],
  llm: {
    port: 4000,
    models: [
      {
        name: 'm',
        provider: 'openAI',
        params: { apiKey: { file: import.meta.filename } },
        authorization: { rules: [{ require: `apiKey.team == 'a'` }] },
      },
    ],
    policies: { apiKey: { keys: [{ key: 'sk-1', metadata: { team: 'a' } }] } },
  },
}

type Path = readonly (string | number)[]

function* objectsIn(value: unknown, path: Path = []): Generator<Path> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield path
  for (const [key, member] of Object.entries(value)) {
    yield* objectsIn(member, [...path, Array.isArray(value) ? Number(key) : key])
  }
}

describe('settings of agentgateway that are not understood are listed', () => {
  const convert = async (document: object) => {
    const { out, err } = await runWith(['convert', '--from', 'agentgateway', '--json', '-'], {
      readInput: () => stringify(document),
    })
    assert.equal(err, '')
    return JSON.parse(out) as { configuration: object; notCarriedOver: { what: string }[] }
  }

  it('none in the sample, and its credentials get no mode', async () => {
    const { configuration, notCarriedOver } = await convert(SAMPLE)
    assert.deepEqual(notCarriedOver, [])
    assert.match(JSON.stringify(configuration), /"apiKey":\{"file":"[^"]+"\}/)
  })

  for (const path of objectsIn(SAMPLE)) {
    it(`a key that nobody knows at ${path.join('.') || 'the top'}`, async () => {
      const changed = structuredClone(SAMPLE) as Record<string, unknown>
      let at = changed
      for (const step of path) at = at[step] as Record<string, unknown>
      // Metadata of a key may have any name.
      if (path.at(-1) === 'metadata') return
      at['somethingNew'] = { a: 1 }
      const { configuration, notCarriedOver } = await convert(changed)
      assert.match(JSON.stringify(notCarriedOver), /somethingNew/)
      assert.doesNotMatch(JSON.stringify(configuration), /somethingNew/)
      if (path[0] === 'config') return
      assert.match(JSON.stringify(configuration), /\{"rules":\[\{"deny":"true"\}\]\}/)
    })
  }
})
