import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { after, before, describe, it } from 'node:test'
import { type Governed, govern, governBy } from './governed.ts'
import { until } from './whole-gateway.ts'

const NAMES = ['Zoë', '张伟', 'Ωμέγα', 'محمد', '🦊 Reineke', 'Ã«', '\u00a0'] as const

/** As node:http shows bytes. */
const shown = (text: string) => Buffer.from(text, 'utf8').toString('latin1')

describe('identity in any script', () => {
  let gateway: Governed | undefined
  before(async () => {
    gateway = await govern(`requestHeaders: { set: { x-static: "Zoë 张伟" } }
transformations:
  request:
    set:
      x-user: json(request.body).name
      x-copy: default(request.headers['x-in'], '')
  response: { set: { x-user: json(request.body).name } }
authorization: { rules: [{ deny: "request.headers['x-in'] == 'Mallory, 张'" }] }
`)
  })
  after(() => gateway?.close())

  async function call(name: string, headers: Readonly<Record<string, string>> = {}) {
    const body = JSON.stringify({ name })
    return (await gateway?.send('/', { method: 'POST', body, headers })) ?? assert.fail()
  }

  for (const name of NAMES) {
    it(`${JSON.stringify(name)} is written in UTF-8, in both directions`, async () => {
      const { got, headers } = await call(name)
      assert.equal(got?.headers['x-user'], shown(name))
      assert.equal(got?.headers['x-static'], shown('Zoë 张伟'))
      assert.equal(headers.get('x-user'), shown(name))
    })
  }

  for (const name of NAMES.slice(0, -1)) {
    it(`${JSON.stringify(name)} in a header of the client is copied byte for byte`, async () => {
      const { got } = await call('a', { 'x-in': shown(name) })
      assert.equal(got?.headers['x-in'], shown(name))
      assert.equal(got?.headers['x-copy'], shown(name))
    })
  }

  it('bytes that are not UTF-8 are read as Latin-1, and passed on unchanged', async () => {
    const { got } = await call('a', { 'x-in': 'Zo\xeb' })
    assert.equal(got?.headers['x-in'], 'Zo\xeb')
    assert.equal(got?.headers['x-copy'], shown('Zoë'))
  })

  it('rules compare text, over each version of HTTP', async () => {
    assert.equal((await call('a', { 'x-in': shown('Mallory, 张') })).status, 403)
    const session = connectHttp2(`http://127.0.0.1:${gateway?.port}`)
    const head = { ':path': '/', 'x-in': shown('Mallory, 张') }
    const stream = session.request(head).resume()
    const [response] = (await once(stream, 'response')) as [Record<string, unknown>]
    session.destroy()
    assert.equal(response[':status'], 403)
  })
})

describe('values that cannot be sent', () => {
  let gateway: Governed | undefined
  before(async () => {
    gateway = await governBy(
      '',
      (_, port, backend) => `gateways: { default: { port: ${port} } }
routes:
- name: own
  matches: [{ path: { exact: /own } }]
  policies:
    directResponse: { status: 200, body: own, headers: { x-own: "json(request.headers['x-json'])" } }
- name: all
  policies:
    transformations:
      request: { set: { x-user: "json(request.headers['x-json'])" } }
      response: { add: { x-back: "json(request.headers['x-json'])" } }
  backends: [{ host: '127.0.0.1:${backend}' }]
`,
    )
  })
  after(() => gateway?.close())

  const count = (route: string) =>
    Number(
      new RegExp(`portcullis_headers_unwritten_total\\{[^}]*route="${route}"\\} (\\d+)`).exec(
        gateway?.metrics() ?? '',
      )?.[1] ?? 0,
    )

  for (const [what, json] of [
    ['a line break', '"a\\r\\nx-admin: 1"'],
    ['a space at the end', '"alice "'],
    ['NUL', '"\\u0000"'],
  ] as const) {
    it(`${what}: the header is removed, counted and logged`, async () => {
      const [before, logged] = [count('all'), gateway?.lines.length ?? 0]
      const { status, got } =
        (await gateway?.get('/', { 'x-json': json, 'x-user': 'admin' })) ?? assert.fail()
      assert.equal(status, 200)
      assert.equal(got?.headers['x-user'], undefined)
      await until('it is logged', () => gateway?.lines.length === logged + 1)
      assert.equal(count('all'), before + 2)
      assert.equal(gateway?.lines.at(-1)?.['headers.unwritten'], 'x-user, x-back')
    })
  }

  it('a response of the gateway itself is counted, too', async () => {
    const { text, headers } = (await gateway?.get('/own', { 'x-json': '"\\n"' })) ?? assert.fail()
    assert.deepEqual([text, headers.get('x-own')], ['own', null])
    await until('it is counted', () => count('own') === 1)
    assert.equal(gateway?.lines.at(-1)?.['headers.unwritten'], 'x-own')
  })

  it('a header that is absent by intention is not counted', async () => {
    const before = count('all')
    await gateway?.get('/')
    await gateway?.get('/', { 'x-json': '"\\n"' })
    await until('the third is counted', () => count('all') > before)
    assert.equal(count('all'), before + 2)
    assert.equal(gateway?.lines.at(-2)?.['headers.unwritten'], undefined)
  })
})
