import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Settings } from '../../model/settings.ts'
import { Configuration } from '../../sources/database/configuration.ts'
import { SecretReferences } from '../../sources/database/secrets.ts'
import { createLogger } from '../../telemetry/log.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import { authenticateBy } from '../callers.ts'
import { isListening, type RequestHandler, serve } from '../servers.ts'
import type { ApiDeps, ExplainQuery } from './deps.ts'
import { responseSchema } from './fixtures/response-schema.ts'
import { apiHandler, ENDPOINTS } from './index.ts'

const CANARIES = ['canary-backend-key', 'canary-header', 'canary-client-key', 'canary-password']

const FILE = `config:
  database: { url: "postgres://user:canary-password@db/portcullis" }
gateways:
  default: { port: 8080 }
routes:
- name: orders/v1
  policies:
    requestHeaders: { set: { authorization: "Bearer canary-header" } }
    apiKey: { keys: [{ key: canary-client-key, metadata: { team: a } }] }
  backends:
  - host: "orders:80"
    policies: { backendAuth: { key: canary-backend-key } }
- backends: [{ host: "users:80" }]
`

/** The output of commands that have nothing to report. */
const SAID: Readonly<Record<Parameters<ApiDeps['runTool']>[0] | 'explain', object>> = {
  effective: { listeners: [] },
  lint: { errors: 0, warnings: 0, infos: 0, diagnostics: [] },
  diff: { differences: [], untold: [] },
  replay: { requests: 0, unchanged: 0, changed: [], unknown: [], disagreeing: 0, notRead: 0 },
  suggest: { suggestions: [], without: [] },
  test: { passed: 0, failed: 0, notRun: 0, uncovered: 0, suites: [] },
  explain: {
    ...{ outcome: 'forwarded', gateway: 'default', listener: 'default', route: 'orders/v1' },
    ...{ notes: [], stages: [] },
  },
}

interface Reply {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
  readonly json: Readonly<Record<string, unknown>>
}

interface Sent {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

const USED = {
  ...{ time: Date.UTC(2026, 10, 16), provider: 'openai', model: 'small', requests: 2 },
  ...{ inputTokens: 30, outputTokens: 12, cost: 0.25 },
}

const PRICED = { rates: { input: '1' }, tiers: [{ contextOver: 9, rates: { output: '2' } }] }
const CATALOG = [{ inline: { providers: { openai: { models: { small: PRICED } } } } }]

const READING: readonly (readonly [string, string, object?])[] = [
  ['GET', '/api/health'],
  ['GET', '/api/session'],
  ['GET', '/api/diagnostics'],
  ['GET', '/api/lint'],
  ['GET', '/api/metrics/summary'],
  ['GET', '/api/llm/catalogue'],
  ['GET', '/api/llm/costs'],
  ['GET', '/api/llm/keys'],
  ['GET', '/api/llm/usage'],
  ['GET', '/api/mcp/servers'],
  ['GET', '/api/logging'],
  ['PUT', '/api/logging', { level: 'debug' }],
  ['GET', '/api/config'],
  ['GET', '/api/config/baseline'],
  ['GET', '/api/config/effective'],
  ['GET', '/api/config/model'],
  ['GET', '/api/config/resources'],
  ['GET', '/api/config/resources/{kind}/{id}'],
  ['GET', '/api/config/resources/{kind}/{id}/fields'],
  ['GET', '/api/config/edits'],
  ['GET', '/api/config/history'],
  ['POST', '/api/config/validate', { changes: [deleting('routes', 'orders/v1')] }],
  ['GET', '/api/decisions'],
  ['GET', '/api/decisions/{id}'],
  ['GET', '/api/decisions/{id}/explain'],
  ['GET', '/api/policies/effective'],
  ['POST', '/api/policies/lint', {}],
  ['POST', '/api/policies/diff', { changes: [deleting('routes', 'orders/v1')] }],
  ['POST', '/api/policies/replay', { changes: [deleting('routes', 'orders/v1')] }],
  ['GET', '/api/policies/suggest'],
  ['POST', '/api/policies/test', { suite: { requests: [] } }],
  ['POST', '/api/policies/explain', { request: 'GET /', claims: { sub: 'a' } }],
]

/** With a database, an endless response, or on another server: compared in other tests. */
const ELSEWHERE = [
  'GET /api/openapi.json',
  'GET /api/decisions/tail',
  'PUT /api/config/resources/{kind}/{id}',
  'DELETE /api/config/resources/{kind}/{id}',
  'POST /api/config/changes',
  'POST /api/config/rollback',
  'POST /api/config/import',
  'POST /api/config/rotate',
  'POST /api/playground',
]

describe('the admin API', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-api-'))
  const file = join(folder, 'gateway.yaml')
  let server: Server
  let guarded: Server
  let ran: readonly string[] = []
  let explained: ExplainQuery | undefined

  before(async () => {
    writeFileSync(file, FILE)
    const status = () => ({
      isReady: true,
      detail: 'ready',
      model: undefined,
      settings: { sensitiveHeaders: [], modelCatalog: CATALOG } as Partial<Settings> as Settings,
      diagnostics: [],
      findings: [],
    })
    const record = {
      ...{ id: 'some-id', time: new Date().toISOString(), kind: 'authorization' },
      ...{ stage: 'traffic', enforced: true, cause: 'no-rules', gateway: 'default' },
      ...{ source: '127.0.0.1:1', attributes: [] },
    }
    const deps: ApiDeps = {
      version: '1.2.3',
      status,
      find: async ({ id }) => ({
        records: (id === undefined || id === 'some-id'
          ? [{ ...record, verdict: 'denied' }]
          : []) as never,
      }),
      readMetrics: async () => createMetrics().read(),
      usageOf: async () => ({ from: 'memory', points: [USED] }),
      budgetUse: async () => undefined,
      configuration: new Configuration({
        file,
        environment: {},
        references: new SecretReferences(),
        validate: async () => [],
      }),
      runTool: async (command, args) => {
        ran = [command, ...args]
        return { code: 0, out: JSON.stringify(SAID[command]), err: '' }
      },
      explain: async (query) => {
        explained = query
        return { report: SAID.explain }
      },
      log: createLogger({ format: 'text', level: 'info', write: () => {} }),
      secrets: [],
    }
    server = await listening(apiHandler(deps, authenticateBy(undefined)))
    guarded = await listening(apiHandler(deps, authenticateBy('a-token-of-some-length')))
  })

  after(() => {
    for (const one of [server, guarded]) {
      one.close()
      one.closeAllConnections()
    }
    rmSync(folder, { recursive: true })
  })

  const call = (path: string, sent: Sent = {}) => send(server, path, sent)
  const json = (method: string, body: unknown): Sent => ({
    method,
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

  it('lists each of its operations and no others', async () => {
    const { json: document } = await call('/api/openapi.json')
    assert.equal(document['openapi'], '3.1.0')
    const paths = document['paths'] as Readonly<Record<string, object>>
    const described = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const served = ENDPOINTS.map(({ method, path }) => `${method} ${path}`)
    assert.deepEqual(described.sort(), served.sort())
    const text = JSON.stringify(document)
    const schemas = (document['components'] as { readonly schemas: object }).schemas
    for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      assert.ok(Object.hasOwn(schemas, name), name)
    }
    assert.doesNotMatch(text, /#\/\$defs/)
  })

  for (const [method, path, body] of READING) {
    it(`responds to ${method} ${path} as it is described, and without secrets`, async () => {
      const id = path.includes('decisions') ? 'some-id' : 'orders%2Fv1'
      const own = path.replace('{kind}', 'routes').replace('{id}', id)
      const reply = await call(own, body === undefined ? { method } : json(method, body))
      assert.equal(reply.status, 200, reply.text)
      const { json: document } = await call('/api/openapi.json')
      const schema = responseSchema(document, path, method)
      const said = /json/.test(reply.headers['content-type'] ?? '') ? reply.json : reply.text
      assert.deepEqual(schema.safeParse(said).error, undefined)
      for (const canary of CANARIES) assert.ok(!reply.text.includes(canary), canary)
    })
  }

  it('compares every operation with its description', () => {
    const compared = [...READING.map(([method, path]) => `${method} ${path}`), ...ELSEWHERE]
    const served = ENDPOINTS.map(({ method, path }) => `${method} ${path}`)
    assert.deepEqual(compared.toSorted(), served.toSorted())
  })

  for (const [method, path, body] of [
    ['PUT', '/api/config/resources/routes/x', { name: 'x' }],
    ['DELETE', '/api/config/resources/routes/orders%2Fv1', undefined],
    ['POST', '/api/config/changes', { changes: [deleting('routes', 'x')] }],
    ['POST', '/api/config/rollback', { revision: 0 }],
    ['POST', '/api/config/rotate', {}],
  ] as const) {
    it(`responds 403 to ${method} ${path} where nothing can be stored`, async () => {
      const reply = await call(path, body === undefined ? { method } : json(method, body))
      assert.equal(reply.status, 403)
      assert.equal(reply.headers['content-type'], 'application/problem+json')
      assert.match(String(reply.json['detail']), /read-only/)
    })
  }

  it('responds 403 to an import if nothing can be stored', async () => {
    const headers = { 'content-type': 'application/yaml' }
    const body = 'routes: [{ name: new, backends: [] }]'
    const reply = await call('/api/config/import', { method: 'POST', headers, body })
    assert.equal(reply.status, 403)
  })

  const deep = `${'['.repeat(100)}${']'.repeat(100)}`
  const put = { 'content-type': 'application/json' }
  for (const [what, path, sent, status] of [
    ['a foreign Origin', '/api/health', { headers: { origin: 'https://evil.example' } }, 403],
    ['an Origin that is null', '/api/health', { headers: { origin: 'null' } }, 403],
    ['a page of another site', '/api/health', { headers: { 'sec-fetch-site': 'cross-site' } }, 403],
    ['a sibling site', '/api/health', { headers: { 'sec-fetch-site': 'same-site' } }, 403],
    ['the page itself', '/api/health', { headers: { 'sec-fetch-site': 'same-origin' } }, 200],
    [
      'a form of another page',
      '/api/config/changes',
      { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{"changes":[]}' },
      415,
    ],
    ['no content type', '/api/config/rotate', { method: 'POST', body: '{}' }, 415],
    ['deep JSON', '/api/config/validate', { method: 'POST', headers: put, body: deep }, 400],
    [
      'a prototype',
      '/api/config/validate',
      { method: 'POST', headers: put, body: '{"__proto__": {"changes": []}}' },
      400,
    ],
    [
      'a body without end',
      '/api/config/validate',
      { method: 'POST', headers: put, body: `"${'x'.repeat(9_000_000)}"` },
      413,
    ],
    ['no JSON', '/api/logging', { method: 'PUT', headers: put, body: '{level: debug}' }, 400],
    [
      'another level',
      '/api/logging',
      { method: 'PUT', headers: put, body: '{"level":"loud"}' },
      400,
    ],
    ['bytes that are no UTF-8 in a path', '/api/decisions/%ff', {}, 404],
    ['an unknown parameter', '/api/decisions?color=red', {}, 400],
    ['a parameter twice', '/api/decisions?limit=1&limit=2', {}, 400],
    ['another method', '/api/health', { method: 'DELETE' }, 405],
    ['a path that is not there', '/api/nothing', {}, 404],
    ['a kind that is not there', '/api/config/resources/config/default', {}, 404],
    ['SQL as an id', "/api/config/resources/routes/'%3B%20drop%20table%20x%3B--", {}, 404],
    ['a path out of it', '/api/config/resources/routes/..%2F..%2Fetc%2Fpasswd', {}, 404],
  ] as const) {
    it(`responds ${status} to ${what}`, async () => {
      const reply = await call(path, sent as Sent)
      assert.equal(reply.status, status, reply.text)
      if (status !== 200) assert.equal(reply.headers['content-type'], 'application/problem+json')
      assert.equal(reply.headers['x-content-type-options'], 'nosniff')
      assert.equal(reply.headers['access-control-allow-origin'], undefined)
    })
  }

  for (const [given, status] of [
    [undefined, 401],
    ['Bearer wrong', 401],
    ['Basic YTpi', 401],
    ['Bearer a-token-of-some-length ', 200],
    ['bearer a-token-of-some-length', 200],
  ] as const) {
    it(`that has a token responds ${status} to ${given ?? 'no credentials'}`, async () => {
      const headers = given === undefined ? {} : { authorization: given }
      const reply = await send(guarded, '/api/health', { headers })
      assert.equal(reply.status, status)
      assert.equal(reply.headers['www-authenticate'] !== undefined, status === 401)
    })
  }

  it('computes effective policies once for each configuration', async () => {
    await call('/api/policies/effective')
    ran = []
    await Promise.all([call('/api/policies/effective'), call('/api/policies/effective?route=x')])
    assert.deepEqual(ran, [])
    await call('/api/policies/lint', json('POST', {}))
    assert.equal(ran[0], 'lint')
  })

  it('explains requests and recorded decisions without running a command', async () => {
    ran = []
    const sent = { request: 'POST /x', headers: ['a: b'], claims: { sub: 'c' }, body: 'd' }
    await call('/api/policies/explain', json('POST', sent))
    const options = { request: 'POST /x', header: ['a: b'], claims: '{"sub":"c"}' }
    assert.deepEqual(explained, { changes: [], options, body: 'd' })
    await call('/api/decisions/some-id/explain')
    assert.ok(explained !== undefined && 'record' in explained)
    assert.equal((explained.record as { readonly id: string }).id, 'some-id')
    assert.deepEqual(ran, [])
  })

  it('returns the configuration as YAML if requested', async () => {
    const reply = await call('/api/config/effective?format=yaml')
    assert.equal(reply.headers['content-type'], 'application/yaml')
    assert.match(reply.text, /^routes:\n {2}- name: orders\/v1\n/m)
  })

  it('returns the ETag of a resource', async () => {
    const reply = await call('/api/config/resources/routes/orders%2Fv1')
    assert.equal(reply.headers['etag'], reply.json['etag'])
  })
})

function deleting(kind: string, id: string) {
  return { action: 'delete', kind, id }
}

async function listening(api: RequestHandler): Promise<Server> {
  const origin = { kind: 'object', object: 'test', field: '' } as const
  const at = { kind: 'tcp', host: '127.0.0.1', port: 0 } as const
  const server = await serve(at, new Map(), origin, undefined, true, api)
  assert.ok(isListening(server))
  return server
}

/** Uses node:http, since fetch sets some headers itself. */
function send(server: Server, path: string, { method, headers, body }: Sent): Promise<Reply> {
  const { port } = server.address() as AddressInfo
  return new Promise((resolve, reject) => {
    const options = {
      port,
      host: '127.0.0.1',
      path,
      method: method ?? 'GET',
      headers: { ...headers },
    }
    const sent = httpRequest(options, (response) => {
      let text = ''
      response.on('data', (bytes) => (text += bytes))
      response.on('end', () => {
        const isJson = /json/.test(response.headers['content-type'] ?? '')
        const { statusCode: status = 0, headers } = response
        resolve({ status, headers, text, json: isJson ? JSON.parse(text) : {} })
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
