import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { type StoredGateway, startGateway } from './gateways.ts'
import { SKIPPED, type TestServer } from './postgres.ts'
import { sharedServer } from './shared-server.ts'

const TOKEN = 'a-token-of-the-attack-table-0123'

type Json = Readonly<Record<string, unknown>>

interface Operation {
  readonly method: string
  /** With placeholders in braces. */
  readonly path: string
  readonly query: readonly string[]
  readonly headers: readonly string[]
  readonly bodyType: string | undefined
  readonly body: Json | undefined
}

interface Sent {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

const SQL = [
  `'; drop table portcullis_resources cascade; --`,
  `' or '1'='1`,
  `x'); delete from portcullis_history; select ('`,
  `\\'; update portcullis_changes set author = 'x'; --`,
  `$1`,
  `%'/**/union/**/select/**/version()--`,
  `a\u0000b`,
  `1; copy portcullis_resources from program 'id'`,
] as const

/** Each attack on each operation in the OpenAPI document of the admin API. */
describe('attacks on the admin API', { skip: SKIPPED }, () => {
  let server: TestServer
  let database: string
  let gateway: StoredGateway
  let operations: readonly Operation[] = []
  let document: Json = {}

  before(async () => {
    server = await sharedServer()
    database = await server.database()
    gateway = await startGateway(database, { environment: { PORTCULLIS_ADMIN_TOKEN: TOKEN } })
    const own = { authorization: `Bearer ${TOKEN}` }
    document = (await gateway.api('GET', '/openapi.json', undefined, own)).json
    operations = operationsOf(document)
    const value = { name: 'kept', matches: [{ path: { exact: '/kept' } }] }
    const kept = { ...value, policies: { directResponse: { status: 201 } } }
    const reply = await gateway.api('PUT', '/config/resources/routes/kept', kept, own)
    assert.equal(reply.status, 200, reply.text)
  })

  after(async () => {
    await gateway?.remove()
  })

  /** Uses node:http: fetch sets some headers itself. */
  function send(method: string, path: string, { headers = {}, body }: Sent = {}) {
    return new Promise<{ status: number; text: string; headers: Json }>((resolve, reject) => {
      const url = new URL(gateway.admin)
      const all = { authorization: `Bearer ${TOKEN}`, ...headers }
      const options = { host: url.hostname, port: url.port, path, method, headers: all }
      const sent = httpRequest(options, (response) => {
        let text = ''
        response.on('data', (bytes) => {
          text += bytes
        })
        // The head of a stream is enough, which sends nothing if nothing is decided.
        const isStream = response.headers['content-type'] === 'text/event-stream'
        if (isStream) response.destroy()
        response.on('close', () =>
          resolve({ status: response.statusCode ?? 0, text, headers: response.headers as Json }),
        )
      })
      sent.on('error', reject)
      sent.end(body)
    })
  }

  const filled = (path: string, id = 'kept') =>
    path.replace('{kind}', 'routes').replace('{id}', encodeURIComponent(id))

  for (const [what, headers, status] of [
    ['a page of another origin', { origin: 'https://attacker.example' }, 403],
    ['a page without an origin', { origin: 'null' }, 403],
    ['a page on another port', { origin: 'http://127.0.0.1:1' }, 403],
    ['a page of another site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['a page of a sibling site', { 'sec-fetch-site': 'same-site' }, 403],
    ['a name that leads here', { host: 'attacker.example' }, 421],
    ['a name that begins as ours', { host: '127.0.0.1.attacker.example' }, 421],
    ['a name with user information', { host: 'localhost@attacker.example' }, 421],
    ['nobody', { authorization: '' }, 401],
    ['a token that begins as ours', { authorization: `Bearer ${TOKEN.slice(0, -1)}` }, 401],
    ['a token that is longer', { authorization: `Bearer ${TOKEN}0` }, 401],
    ['a cookie of that name', { authorization: '', cookie: `session=${TOKEN}` }, 401],
  ] as const) {
    it(`every operation rejects ${what} with ${status}`, async () => {
      assert.ok(operations.length >= 30, String(operations.length))
      for (const { method, path } of operations) {
        const reply = await send(method, filled(path), { headers })
        assert.equal(reply.status, status, `${method} ${path}`)
        assert.equal(reply.headers['access-control-allow-origin'], undefined)
        assert.equal(reply.headers['set-cookie'], undefined)
      }
    })
  }

  it('no operation reads a body that an HTML form can send', async () => {
    const writing = operations.filter(({ body }) => body !== undefined)
    assert.ok(writing.length >= 12, String(writing.length))
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      for (const { method, path } of writing) {
        const headers = { 'content-type': type }
        const { status } = await send(method, filled(path), { headers, body: '{}' })
        assert.equal(status, 415, `${method} ${path}`)
      }
    }
  })

  it('no operation accepts a body that is too long, too deep or not JSON', async () => {
    const deep = `${'{"a":'.repeat(70)}1${'}'.repeat(70)}`
    const long = JSON.stringify({ x: 'x'.repeat(9_000_000) })
    const json = operations.filter(({ bodyType }) => bodyType === 'application/json')
    for (const { method, path } of json) {
      const headers = { 'content-type': 'application/json' }
      for (const [body, status] of [
        [deep, 400],
        ['{"__proto__":{"a":1}}', 400],
        ['{', 400],
        ['\ud800', 400],
      ] as const) {
        const reply = await send(method, filled(path), { headers, body })
        assert.equal(reply.status, status, `${method} ${path}: ${reply.text}`)
      }
    }
    for (const { method, path, bodyType = '' } of operations.filter(({ body }) => body)) {
      const headers = { 'content-type': bodyType }
      const reply = await send(method, filled(path), { headers, body: long }).catch(() => undefined)
      // The server may close the connection before all of it is sent.
      if (reply !== undefined) assert.equal(reply.status, 413, `${method} ${path}`)
    }
    const aliases = Array.from(
      { length: 9 },
      (_, n) => `a${n}: &a${n} [${`*a${n - 1},`.repeat(9)}]`,
    )
    const bomb = `${aliases.join('\n').replace('*a-1,', '1,')}\nroutes: *a8\n`
    const headers = { 'content-type': 'application/yaml' }
    const { status } = await send('POST', '/api/config/import', { headers, body: bomb })
    assert.equal(status, 400)
  })

  it('SQL in any field is treated as a string', async () => {
    const names = 'select table_name as name from information_schema.tables order by 1'
    const rows = 'select kind, id, value::text from portcullis_resources order by 1, 2'
    const tables = (await server.query(names, [], database)) as readonly Json[]
    const stored = await server.query(rows, [], database)
    let count = 0
    const attack = async (method: string, path: string, sent: Sent) => {
      count++
      const { status, text } = await send(method, path, sent)
      assert.ok(status < 500, `${method} ${path} ${JSON.stringify(sent)}: ${status} ${text}`)
      assert.doesNotMatch(text, /syntax error at or near|PostgreSQL \d/i, `${method} ${path}`)
    }
    const json = { 'content-type': 'application/json' }
    // A header cannot contain a NUL.
    const inHeaders = SQL.filter((text) => !text.includes('\u0000'))
    for (const { method, path, query, headers: own, bodyType, body } of operations) {
      const headers: Record<string, string> =
        bodyType === undefined ? {} : { 'content-type': bodyType }
      const runsCommand = /\/policies\/|\/explain$/.test(path)
      const sample = body === undefined ? undefined : sampleOf(document, body)
      const written = bodyType === 'application/json' ? JSON.stringify(sample) : 'routes: []'
      const more = body === undefined ? {} : { body: written }
      for (const text of runsCommand ? SQL.slice(0, 1) : SQL) {
        const hidden = encodeURIComponent(text)
        if (path.includes('{id}')) await attack(method, filled(path, text), { headers, ...more })
        if (path.includes('{kind}')) {
          await attack(method, path.replace('{kind}', hidden).replace('{id}', 'x'), {
            headers,
            ...more,
          })
        }
        for (const name of runsCommand ? [] : query) {
          await attack(method, `${filled(path)}?${name}=${hidden}`, { headers, ...more })
        }
        if (bodyType === 'application/yaml') {
          const yaml = JSON.stringify({ routes: [{ name: text, backends: [] }] })
          await attack(method, path, { headers, body: yaml })
        }
        if (sample === undefined || bodyType !== 'application/json') continue
        const leaves = runsCommand ? [undefined] : textsIn(sample)
        for (const leaf of leaves) {
          const poisoned = JSON.stringify(poison(sample, text, leaf))
          await attack(method, filled(path), { headers, body: poisoned })
        }
      }
      for (const name of runsCommand ? [] : own) {
        for (const text of inHeaders) {
          await attack(method, filled(path), { headers: { ...headers, [name]: text }, ...more })
        }
      }
    }
    assert.ok(count > 300, String(count))
    assert.deepEqual(await server.query(names, [], database), tables)
    const { text } = await send('GET', '/api/config/history?limit=1')
    const back = JSON.stringify({ revision: 1 })
    assert.equal(
      (await send('POST', '/api/config/rollback', { headers: json, body: back })).status,
      200,
      text,
    )
    assert.deepEqual(await server.query(rows, [], database), stored)
  })

  it('names that contain SQL, markup or paths are stored and found unchanged', async () => {
    const headers = { 'content-type': 'application/json' }
    for (const name of [`'; drop table x; --`, '<script>alert(1)</script>', '../../x', 'ü %2F "']) {
      const value = {
        name,
        matches: [{ path: { exact: '/odd' } }],
        policies: { directResponse: { status: 200 } },
      }
      const path = `/api/config/resources/routes/${encodeURIComponent(name)}`
      const put = await send('PUT', path, { headers, body: JSON.stringify(value) })
      // A name that the configuration rejects is not stored; any other is found by that name.
      if (put.status === 422 || put.status === 400) continue
      assert.equal(put.status, 200, put.text)
      assert.equal(JSON.parse((await send('GET', path)).text).id, name)
      const gone = await send('DELETE', path, { headers: { 'if-match': '*' } })
      assert.equal(gone.status, 200, gone.text)
    }
  })
})

function operationsOf({ paths }: Json): readonly Operation[] {
  return Object.entries(paths as Readonly<Record<string, Readonly<Record<string, Json>>>>).flatMap(
    ([path, item]) =>
      Object.entries(item).map(([method, operation]) => {
        const parameters = operation['parameters'] as readonly { name: string; in: string }[]
        const inside = (place: string) =>
          parameters.filter((one) => one.in === place).map(({ name }) => name)
        const { content = {} } = (operation['requestBody'] ?? {}) as { readonly content?: Json }
        const [bodyType, media] = Object.entries(content)[0] ?? []
        return {
          method: method.toUpperCase(),
          path,
          query: inside('query'),
          headers: inside('header'),
          bodyType,
          body: (media as { readonly schema?: Json } | undefined)?.schema,
        }
      }),
  )
}

/** A value that a schema accepts, with all of its members. */
function sampleOf(document: Json, schema: Json): unknown {
  const { $ref, enum: values, anyOf, oneOf, type, items, properties } = schema
  if (typeof $ref === 'string') {
    const name = $ref.split('/').at(-1) as string
    if (name === 'Json') return 'text'
    const { schemas } = document['components'] as {
      readonly schemas: Readonly<Record<string, Json>>
    }
    return sampleOf(document, schemas[name] as Json)
  }
  if (Object.hasOwn(schema, 'const')) return schema['const']
  if (Array.isArray(values)) return values[0]
  const [choice] = (anyOf ?? oneOf ?? []) as readonly Json[]
  if (choice !== undefined) return sampleOf(document, choice)
  if (type === 'array') return [sampleOf(document, items as Json)]
  if (type === 'object') {
    const members = Object.entries((properties ?? {}) as Readonly<Record<string, Json>>)
    return Object.fromEntries(members.map(([name, inner]) => [name, sampleOf(document, inner)]))
  }
  if (type === 'integer' || type === 'number') return 1
  if (type === 'boolean') return false
  return 'text'
}

type Path = readonly PropertyKey[]

/** The paths of the strings in a value. */
function textsIn(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value === 'string') return [path]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => textsIn(inner, [...path, key]))
}

/** Replaces the string at `at`; by default all strings except enum values. */
function poison(value: unknown, text: string, at: Path | undefined, path: Path = []): unknown {
  if (typeof value === 'string') {
    const isMeant = at === undefined ? value === 'text' : at.join('/') === path.join('/')
    return isMeant ? text : value
  }
  if (Array.isArray(value)) {
    return value.map((item, index) => poison(item, text, at, [...path, String(index)]))
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, poison(inner, text, at, [...path, key])]),
  )
}
