import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { responseSchema } from '../../src/admin/api/fixtures/response-schema.ts'
import { until } from '../cli/running.ts'
import { type Reply, type StoredGateway, startGateway } from './gateways.ts'
import { SKIPPED, type TestServer } from './postgres.ts'
import { sharedServer } from './shared-server.ts'

const ROUTES = `- name: home
  hostnames: [localhost]
  matches: [{ path: { exact: /home } }]
  policies:
    timeout: { requestTimeout: 5s }
    directResponse: { status: 200, body: home }
- name: other
  matches: [{ path: { exact: /other } }]
  policies: { directResponse: { status: 200 } }
`
const HOME = '/config/resources/routes/home'
const SECRET = 'canary-of-an-edit'
const direct = (name: string, status: number, more: object = {}) => ({
  name,
  matches: [{ path: { exact: `/${name}` } }],
  policies: { directResponse: { status } },
  ...more,
})

interface Field {
  readonly field: string
  readonly from: string
  readonly revision: number | null
  readonly comment: string | null
  readonly line: number | null
  readonly isDrifted: boolean
  readonly isRemoved: boolean
}

/** The edits of an operator through the API; each response matches the OpenAPI document. */
describe('edits by the admin API', { skip: SKIPPED }, () => {
  const oldKey = randomBytes(32).toString('hex')
  const newKey = randomBytes(32).toString('hex')
  let server: TestServer
  let url: string
  let gateway: StoredGateway
  let described: Readonly<Record<string, unknown>> = {}
  const compared = new Set<string>()

  before(async () => {
    server = await sharedServer()
    url = await server.database()
    gateway = await startGateway(url, {
      environment: { PORTCULLIS_STORAGE_KEY: oldKey },
      routes: ROUTES,
    })
    described = (await gateway.api('GET', '/openapi.json')).json
  })

  after(async () => {
    await gateway?.remove()
  })

  async function api(method: string, path: string, ...more: readonly (object | undefined)[]) {
    const [body, headers] = more
    const reply = await gateway.api(method, path, body, headers)
    if (reply.status === 200) assertDescribed(method, path, reply)
    return reply
  }

  function assertDescribed(method: string, path: string, { json, text }: Reply): void {
    const template = `/api${path.split('?', 1)[0]}`.replace(
      /resources\/[^/]+\/[^/]+/,
      'resources/{kind}/{id}',
    )
    compared.add(`${method} ${template}`)
    const said = text.startsWith('{') || text.startsWith('[') ? json : text
    const { error } = responseSchema(described, template, method).safeParse(said)
    assert.equal(error, undefined, `${method} ${template}: ${error}`)
  }

  /** With the current version, whatever it is. */
  async function edit(change: (value: Record<string, unknown>) => object, comment: string) {
    const { json, etag } = await api('GET', HOME)
    const value = change(json['value'] as Record<string, unknown>)
    const match = { 'if-match': etag ?? '' }
    const reply = await api('PUT', `${HOME}?comment=${comment}`, value, match)
    assert.equal(reply.status, 200, reply.text)
  }

  const fields = async (query = '') =>
    (await api('GET', `${HOME}/fields${query}`)).json['fields'] as readonly Field[]

  it('show for each field which revision changed it last, or which line of the file', async () => {
    assert.deepEqual(
      (await fields()).map(({ field, from, revision }) => [field, from, revision]),
      [['', 'baseline', null]],
    )
    await edit((value) => ({ ...value, hostnames: ['localhost', '127.0.0.1'] }), 'names')
    await edit(
      ({ policies, ...value }) => ({
        ...value,
        policies: { ...(policies as object), timeout: { requestTimeout: '9s' } },
      }),
      'timeout',
    )
    const all = new Map((await fields()).map((one) => [one.field, one]))
    const brief = (field: string) => {
      const { from, revision, comment } = all.get(field) ?? assert.fail(`nothing about ${field}`)
      return [from, revision, comment]
    }
    assert.deepEqual(brief('/hostnames'), ['database', 1, 'names'])
    assert.deepEqual(brief('/policies/timeout/requestTimeout'), ['database', 2, 'timeout'])
    assert.deepEqual(brief('/policies/directResponse'), ['baseline', null, null])
    const text = readFileSync(gateway.file, 'utf8').split('\n')
    for (const [field, line] of [
      ['/name', /name: home/],
      ['/hostnames', /hostnames: \[localhost\]/],
      ['/policies/directResponse', /directResponse: .*home/],
    ] as const) {
      assert.match(text[(all.get(field)?.line ?? 0) - 1] ?? '', line, field)
    }
    const [one, ...others] = await fields('?field=/policies/timeout')
    assert.deepEqual(
      [one?.field, one?.revision, others],
      ['/policies/timeout/requestTimeout', 2, []],
    )
    assert.equal((await api('GET', `${HOME}/fields?field=/nothing`)).status, 404)
    assert.equal((await api('GET', `${HOME}/fields?field=nothing`)).status, 400)
  })

  it('show later changes of the file, and which of them they override', async () => {
    const before = readFileSync(gateway.file, 'utf8')
    writeFileSync(gateway.file, before.replace('[localhost]', '[localhost, moved.test]'))
    await until('the drift is seen', async () => {
      const { json } = await api('GET', HOME)
      return JSON.stringify(json['drift']) === '["/hostnames"]'
    })
    const { json } = await api('GET', HOME)
    const [value, baseline] = [json['value'], json['baseline']] as readonly { hostnames: object }[]
    assert.deepEqual(value?.hostnames, ['localhost', '127.0.0.1'])
    assert.deepEqual(baseline?.hostnames, ['localhost', 'moved.test'])
    const [one] = await fields('?field=/hostnames')
    assert.deepEqual([one?.from, one?.isDrifted], ['database', true])
    const outline = (await api('GET', '/config')).json['edits'] as { readonly drifted: number }
    assert.equal(outline.drifted, 1)
    writeFileSync(gateway.file, before)
    await until(
      'it is gone',
      async () => (await fields('?field=/hostnames'))[0]?.isDrifted === false,
    )
  })

  it('are exported as YAML, deletions included, and imported elsewhere', async () => {
    const change = { action: 'set', kind: 'routes', id: 'added', value: direct('added', 207) }
    const stored = await api('POST', '/config/changes', { changes: [change], comment: 'one more' })
    assert.equal(stored.status, 200, stored.text)
    const gone = await api('DELETE', '/config/resources/routes/other', undefined, {
      'if-match': '*',
    })
    assert.equal(gone.status, 200, gone.text)
    const { text } = await api('GET', '/config/edits')
    assert.match(text, /^# deleted: "routes\/other"$/m)
    const elsewhere = await startGateway(await server.database(), { routes: ROUTES })
    try {
      const yaml = { 'content-type': 'application/yaml' }
      const post = (body: string, path = '/config/import') =>
        fetch(`${elsewhere.admin}/api${path}`, { method: 'POST', headers: yaml, body })
      const reply = await post(text)
      const said = await reply.text()
      assert.equal(reply.status, 200, said)
      const json = JSON.parse(said) as Reply['json']
      assertDescribed('POST', '/config/import', { status: 200, etag: null, text: said, json })
      assert.deepEqual([json['revision'], json['stored']], [1, 2])
      await until('it is served', async () => (await elsewhere.get('/added')) === 207)
      const again = (await (await post(text)).json()) as Reply['json']
      assert.deepEqual([again['revision'], again['stored']], [1, 0], 'nothing differs')
      const ours = (await api('GET', HOME)).json['value']
      assert.deepEqual((await elsewhere.api('GET', HOME)).json['value'], ours)
      assert.equal((await post('routes: [')).status, 400)
      assert.equal((await post('routes: [{ name: x, backends: [{ backend: none }] }]')).status, 422)
    } finally {
      await elsewhere.remove()
    }
  })

  it('roll back to any revision, which is a new edit', async () => {
    const reply = await api('POST', '/config/rollback', { revision: 2, comment: 'too early' })
    assert.equal(reply.status, 200, reply.text)
    const revision = Number(reply.json['revision'])
    await until('it is gone', async () => (await gateway.get('/added')) === 404)
    await until('it is back', async () => (await gateway.get('/other')) === 200)
    const { json } = await api('GET', '/config/history?limit=10')
    const entries = json['entries'] as readonly Reply['json'][]
    const own = entries.filter((one) => one['revision'] === revision)
    assert.deepEqual(
      own.map(({ id, action, author, comment, state }) => [id, action, author, comment, state]),
      [
        ['added', 'rollback to 2', 'local', 'too early', 'reset'],
        ['other', 'rollback to 2', 'local', 'too early', 'reset'],
      ],
    )
  })

  it('are each in the audit trail: who, what, and the revision before and after', async () => {
    for (const line of [
      /audit.*caller=local.*method=PUT.*routes\/home.*status=200.*revision=1\b/,
      /audit.*caller=local.*method=PUT.*routes\/home.*status=200.*revision=2\b/,
      /audit.*caller=local.*method=POST.*config\/changes.*status=200.*revision=3\b/,
      /audit.*caller=local.*method=DELETE.*routes\/other.*status=200.*revision=4\b/,
      /audit.*caller=local.*method=POST.*config\/rollback.*status=200.*revision=5\b/,
    ]) {
      await until(`the line ${line}`, () => line.test(gateway.out()))
    }
    const { json } = await api('GET', '/config/history?limit=1000')
    const entries = json['entries'] as readonly Reply['json'][]
    const revisions = new Set(entries.map((one) => one['revision']))
    assert.deepEqual([...revisions], [5, 4, 3, 2, 1])
    for (const one of entries) {
      assert.notDeepEqual(one['before'], one['after'], JSON.stringify(one))
      assert.equal(one['author'], 'local')
    }
  })

  it('can be re-encrypted with another key, which is then enough', async () => {
    const backend = { host: '127.0.0.1:1', policies: { backendAuth: { key: SECRET } } }
    const value = { ...direct('guarded', 200, { policies: {} }), backends: [backend] }
    const stored = await api('PUT', '/config/resources/routes/guarded', value)
    assert.equal(stored.status, 200, stored.text)
    const own = gateway
    const sealed = async () => JSON.stringify(await server.query(SEALED, [], url))
    const before = await sealed()
    assert.match(before, /\$sealed/)
    assert.ok(!before.includes(SECRET))
    const both = { PORTCULLIS_STORAGE_KEY: `${newKey},${oldKey}` }
    gateway = await startGateway(url, { environment: both, routes: ROUTES })
    try {
      const reply = await api('POST', '/config/rotate', {})
      assert.deepEqual([reply.status, reply.json['rotated']], [200, 2], reply.text)
      assert.notEqual(await sealed(), before)
      assert.ok(!gateway.out().includes(SECRET))
      await until('the line of the audit', () =>
        /audit.*config\/rotate.*rotated=2/.test(gateway.out()),
      )
    } finally {
      await gateway.remove()
      gateway = own
    }
    const only = await startGateway(url, {
      environment: { PORTCULLIS_STORAGE_KEY: newKey },
      routes: ROUTES,
    })
    await until('it is served', async () => (await only.get('/guarded')) >= 500)
    await only.remove()
  })

  it('are not available in readonly mode, even with a database', async () => {
    const config = { storage: { mode: 'readonly' } }
    const own = await startGateway(await server.database(), { config })
    try {
      const said = (await own.api('GET', '/config')).json['mode']
      assert.equal(said, 'readonly')
      for (const [method, path, body] of [
        ['PUT', '/config/resources/routes/new', direct('new', 200)],
        ['DELETE', HOME, undefined],
        [
          'POST',
          '/config/changes',
          { changes: [{ action: 'delete', kind: 'routes', id: 'home' }] },
        ],
        ['POST', '/config/rollback', { revision: 0 }],
        ['POST', '/config/rotate', {}],
      ] as const) {
        const reply = await own.api(method, path, body, { 'if-match': '*' })
        assert.equal(reply.status, 403, `${method} ${path}: ${reply.text}`)
        assert.match(reply.text, /this gateway is read-only: edit its file, or set/)
      }
      assert.equal(await own.get('/home'), 200)
    } finally {
      await own.remove()
    }
  })

  it('respond as the OpenAPI document says, whatever the operation', () => {
    for (const operation of [
      'PUT /api/config/resources/{kind}/{id}',
      'DELETE /api/config/resources/{kind}/{id}',
      'POST /api/config/changes',
      'POST /api/config/rollback',
      'POST /api/config/import',
      'POST /api/config/rotate',
    ]) {
      assert.ok(compared.has(operation), operation)
    }
  })
})

const SEALED = 'select value::text from portcullis_history order by revision, id'
