import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { until } from '../cli/running.ts'
import { type StoredGateway, startGateway } from './gateways.ts'
import { SKIPPED, type TestServer } from './postgres.ts'
import { sharedServer } from './shared-server.ts'

const KEY = '0123456789abcdef'.repeat(4)
const direct = (name: string, status: number) => ({
  name,
  matches: [{ path: { exact: `/${name}` } }],
  policies: { directResponse: { status } },
})

describe('gateways with a database', { skip: SKIPPED }, () => {
  let server: TestServer
  let a: StoredGateway
  let b: StoredGateway

  before(async () => {
    server = await sharedServer()
    const url = await server.database()
    const environment = { PORTCULLIS_STORAGE_KEY: KEY }
    ;[a, b] = await Promise.all([
      startGateway(url, { environment }),
      startGateway(url, { environment }),
    ])
  })

  after(async () => {
    await Promise.all([a, b].map((one) => one?.remove()))
  })

  it('serve an edit on every replica, together with the rest of the baseline', async () => {
    assert.equal(await b.get('/new'), 404)
    const reply = await a.api('PUT', '/config/resources/routes/new', direct('new', 201))
    assert.equal(reply.status, 200, reply.text)
    assert.match(reply.etag ?? '', /^"1-/)
    for (const one of [a, b]) {
      await until('it is served', async () => (await one.get('/new')) === 201)
      assert.equal(await one.get('/home'), 200)
    }
    assert.match(await b.metrics(), /^portcullis_storage_revision 1$/m)
    assert.match(await b.metrics(), /^portcullis_storage_connected 1$/m)
  })

  it('show the source of each field, and export the edits', async () => {
    const path = '/config/resources/routes/home'
    const { etag, json } = await a.api('GET', path)
    const edited = { ...(json['value'] as object), hostnames: ['localhost', '127.0.0.1'] }
    const missing = await a.api('PUT', path, edited)
    assert.equal(missing.status, 428)
    const match = { 'if-match': etag ?? '' }
    assert.equal((await a.api('PUT', path, edited, match)).status, 200)
    const conflict = await a.api('PUT', path, edited, match)
    assert.equal(conflict.status, 412)
    assert.deepEqual(conflict.json['yours'], edited)
    assert.ok(conflict.json['current'])
    const now = await a.api('GET', path)
    assert.equal(now.json['origin'], 'merged')
    const provenance = now.json['provenance'] as Record<string, string>
    assert.equal(provenance['/hostnames'], 'database')
    assert.equal(
      provenance['/policies/directResponse/status'] ?? provenance['/policies'],
      'baseline',
    )
    const edits = await a.api('GET', '/config/edits')
    assert.match(edits.text, /^ {2}- name: home\n[\s\S]*hostnames/m)
    const history = await a.api('GET', '/config/history?kind=routes&id=home')
    const [entry] = history.json['entries'] as readonly Record<string, unknown>[]
    assert.equal(entry?.['author'], 'local')
    assert.deepEqual(entry?.['before'], json['value'])
    assert.deepEqual(entry?.['after'], edited)
  })

  it('reject an edit that makes the whole configuration invalid, and report where', async () => {
    const value = {
      name: 'wrong',
      policies: { authorization: { rules: [{ allow: "jtw.sub == 'a'" }] } },
    }
    const reply = await a.api('PUT', '/config/resources/routes/wrong', value)
    assert.equal(reply.status, 422, reply.text)
    const [first] = reply.json['diagnostics'] as readonly { origin: unknown; code: string }[]
    assert.deepEqual(first?.origin, {
      kind: 'object',
      object: 'database routes/wrong',
      field: 'policies.authorization.rules[0].allow',
    })
    const checked = await a.api('POST', '/config/validate', {
      changes: [{ action: 'set', kind: 'routes', id: 'wrong', value }],
    })
    assert.equal(checked.json['isValid'], false)
  })

  it('show what an edit would allow before it is stored', async () => {
    const changes = [{ action: 'delete', kind: 'routes', id: 'new' }]
    const reply = await a.api('POST', '/policies/diff', { changes })
    assert.equal(reply.status, 200, reply.text)
    assert.ok('differences' in reply.json)
    const explained = await a.api('POST', '/policies/explain', { request: 'GET /new' })
    assert.equal(explained.json['route'], 'new')
  })

  it('lint stored resources together with the file', async () => {
    const rules = [{ allow: 'true' }, { deny: "request.headers['x-team'] != 'a'" }]
    const value = { ...direct('linted', 200), policies: { authorization: { rules } } }
    const stored = await a.api('PUT', '/config/resources/routes/linted', value)
    assert.equal(stored.status, 200, stored.text)
    await until('it is linted', async () => {
      const { json } = await b.api('GET', '/lint')
      const text = JSON.stringify(json['findings'] ?? [])
      return text.includes('database routes/linted') && text.includes('"AZ0')
    })
  })

  it('never show a stored secret', async () => {
    const secret = 'canary-of-a-provider'
    const value = {
      name: 'guarded',
      matches: [{ path: { exact: '/guarded' } }],
      backends: [{ host: '127.0.0.1:1', policies: { backendAuth: { key: secret } } }],
    }
    const stored = await a.api('PUT', '/config/resources/routes/guarded', value)
    assert.equal(stored.status, 200, stored.text)
    await until('it is served', async () => (await b.get('/guarded')) >= 500)
    const paths = ['', '/baseline', '/effective', '/model', '/resources', '/history', '/edits']
    for (const one of [a, b]) {
      for (const path of [...paths.map((path) => `/config${path}`), '/lint', '/diagnostics']) {
        assert.ok(!(await one.api('GET', path)).text.includes(secret), path)
      }
      const own = await one.api('GET', '/config/resources/routes/guarded')
      assert.match(JSON.stringify(own.json['value']), /\(secret [0-9a-f]{32}\)/)
      assert.ok(![one.out(), await one.metrics(), own.text].some((text) => text.includes(secret)))
    }
  })

  it('keep serving without the database, also after a restart, and report it', async () => {
    await server.stop('SIGQUIT')
    await until('it is noticed', async () => /cannot be read/.test(await a.ready()))
    assert.match(
      await a.ready(),
      /^200 ready, serving revision \d+ because the database cannot be read/,
    )
    assert.equal(await a.get('/new'), 201)
    const reply = await a.api('PUT', '/config/resources/routes/late', direct('late', 200))
    assert.equal(reply.status, 503, reply.text)
    assert.match(String(reply.json['detail']), /nothing was stored/)
    assert.match(await a.metrics(), /^portcullis_storage_connected 0$/m)
    await server.start()
    await until('both are back', async () =>
      (await Promise.all([a.ready(), b.ready()])).every((text) => text === '200 ready\n'),
    )
    const late = await b.api('PUT', '/config/resources/routes/late', direct('late', 202))
    assert.equal(late.status, 200)
    await until('it is served', async () => (await a.get('/late')) === 202)
  })

  it('roll back to the baseline', async () => {
    const reply = await a.api('POST', '/config/rollback', { revision: 0 })
    assert.equal(reply.status, 200, reply.text)
    await until('it is gone', async () => (await b.get('/new')) === 404)
    assert.equal(await b.get('/home'), 200)
  })

  it('serve nothing until the stored state is known, or the last known state if a file has it', async () => {
    const url = await server.database()
    const stateFile = join(mkdtempSync(join(tmpdir(), 'portcullis-state-')), 'state.json')
    const c = await startGateway(url, { stateFile })
    try {
      await c.api('PUT', '/config/resources/routes/kept', direct('kept', 203))
      await until('it is served', async () => (await c.get('/kept')) === 203)
      // Written after the gateway serves it: if it is killed earlier, only the database has the
      // edit.
      await until('it is on disk', () => readFileSync(stateFile, 'utf8').includes('kept'))
      await server.stop('SIGQUIT')
      await c.restart()
      await until('it serves', async () => (await c.get('/kept')) === 203)
      assert.match(
        await c.ready(),
        /^200 ready, serving revision 1 because the database cannot be read/,
      )
      const d = await startGateway(url, { isWaiting: true })
      await until('it says why', async () => /^503 waiting for the database/.test(await d.ready()))
      assert.equal(await d.get('/home'), 0)
      // The file alone is not the configuration: a script would look for its edit in vain.
      for (const path of ['/config/resources', '/config', '/config/model', '/lint']) {
        const { status, json } = await d.api('GET', path)
        assert.equal(status, 503, path)
        assert.match(String(json['detail']), /has not been read from the database yet/)
      }
      assert.equal((await d.api('GET', '/health')).status, 200)
      await server.start()
      await until('it serves', async () => (await d.get('/kept')) === 203)
      await d.remove()
    } finally {
      await c.remove()
    }
  })
})
