import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, it } from 'node:test'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type Picker, picks, responds, startPicker } from './endpoint-picker.ts'

const HEADER = 'x-gateway-destination-endpoint'

interface Served {
  readonly by: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

describe('inferenceRouting', () => {
  const servers: Server[] = []
  const names: string[] = []
  let picker: Picker
  let served: Served[] = []
  let port = 0
  let running: Deciding | undefined

  before(async () => {
    picker = await startPicker()
    port = await freePort()
    for (let i = 0; i < 3; i++) {
      const server = createServer((request, response) => {
        const pieces: Buffer[] = []
        request.on('data', (piece: Buffer) => pieces.push(piece))
        request.on('end', () => {
          const body = Buffer.concat(pieces).toString()
          served.push({ by: names[i] ?? '', headers: request.headers, body })
          response.end(names[i])
        })
      })
      servers.push(server)
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
      names.push(`127.0.0.1:${(server.address() as AddressInfo).port}`)
    }
  })

  after(async () => {
    await running?.stop()
    picker?.close()
    for (const server of servers) {
      server.close()
      server.closeAllConnections()
    }
  })

  beforeEach(() => {
    served = []
    ;(picker.asked as unknown[]).length = 0
    picker.decide = ({ body }) => picks(names[1] ?? '', body)
  })

  async function serve(
    routing: object = {},
    more: object = {},
    hosts: readonly string[] = names,
  ): Promise<void> {
    const inferenceRouting = {
      endpointPicker: { host: `127.0.0.1:${picker.port}` },
      timeout: '20s',
      ...routing,
    }
    const text = JSON.stringify({
      gateways: { default: { port } },
      backends: [{ name: 'models', hosts, policies: { inferenceRouting } }],
      routes: [{ name: 'all', ...more, backends: [{ backend: 'models' }] }],
    })
    if (running === undefined) running = await startDeciding(text, 'json')
    else await running.apply(text)
  }

  async function post(body: string, headers: Readonly<Record<string, string>> = {}) {
    const response = await fetch(`http://127.0.0.1:${port}/v1/chat?x=1`, {
      method: 'POST',
      body,
      headers,
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }

  it('sends each request where the picker says, whatever the client says', async () => {
    await serve()
    for (let i = 0; i < 12; i++) {
      const by = names[i % 3] ?? ''
      picker.decide = ({ body }) => picks(by, body)
      assert.equal((await post('{}', { [HEADER]: names[(i + 1) % 3] ?? '' })).text, by)
    }
    assert.deepEqual(
      served.map(({ headers }) => headers[HEADER]),
      served.map(({ by }) => by),
    )
    assert.ok(picker.asked.every(({ headers }) => headers[HEADER] === undefined))
  })

  it('shows the picker the request with its body, and no credentials', async () => {
    await serve({}, { policies: { requestHeaders: { set: { 'x-objective': 'batch' } } } })
    const body = 'x'.repeat(200_000)
    const headers = { authorization: 'Bearer secret', cookie: 'a=b', 'x-tenant': 'shop' }
    assert.equal((await post(body, headers)).text, names[1])
    const [asked] = picker.asked
    assert.equal(asked?.body, body)
    assert.ok((asked?.pieces ?? 0) > 2, 'servers of gRPC take no message without end')
    assert.equal(asked?.headers[':method'], 'POST')
    assert.equal(asked?.headers[':path'], '/v1/chat?x=1')
    assert.equal(asked?.headers['x-tenant'], 'shop')
    assert.equal(asked?.headers['x-objective'], 'batch')
    assert.doesNotMatch(JSON.stringify(asked?.headers), /secret|a=b/)
    assert.equal(served[0]?.headers.authorization, 'Bearer secret')
    assert.equal(served[0]?.body, body)
  })

  it('sends the body and the headers that the picker returned', async () => {
    await serve()
    picker.decide = () => picks(names[2] ?? '', '{"model":"rewritten"}', { 'x-model': 'b' })
    assert.equal((await post('{"model":"asked for"}')).text, names[2])
    assert.equal(served[0]?.body, '{"model":"rewritten"}')
    assert.equal(served[0]?.headers['content-length'], '21')
    assert.equal(served[0]?.headers['x-model'], 'b')
  })

  it('also calls the picker for requests without a body', async () => {
    await serve()
    picker.decide = () => picks(names[0] ?? '', '').slice(0, 1)
    const response = await fetch(`http://127.0.0.1:${port}/v1/models`)
    assert.equal(await response.text(), names[0])
    assert.deepEqual([picker.asked[0]?.body, picker.asked[0]?.pieces], ['', 0])
  })

  it('picks the first of several endpoints that the backend has', async () => {
    await serve()
    picker.decide = ({ body }) => picks(`192.0.2.1:80, ${names[2]},${names[0]}`, body)
    assert.equal((await post('{}')).text, names[2])
  })

  it('tries the next endpoint in the list if an attempt fails and is retried', async () => {
    const dead = '127.0.0.1:1'
    const retry = { attempts: 2, backoff: '1ms' }
    await serve({}, { policies: { retry } }, [dead, ...names])
    picker.decide = ({ body }) => picks(`${dead},${names[2]},${names[0]}`, body)
    assert.deepEqual([(await post('{}')).text, (await post('{}')).text], [names[2], names[2]])
    assert.equal(picker.asked.length, 2)
  })

  it('also accepts the endpoint in the metadata', async () => {
    await serve()
    const fields = { [HEADER]: { stringValue: names[0] } }
    const value = { structValue: { fields } }
    picker.decide = () => [
      { requestHeaders: {}, dynamicMetadata: { fields: { 'envoy.lb': value } } },
    ]
    assert.equal((await post('{}')).text, names[0])
    assert.equal(served[0]?.body, '{}')
  })

  it('sends the client the response that a picker returns', async () => {
    await serve({ failureMode: 'FailOpen' })
    picker.decide = () => responds(429, 'too busy', { 'retry-after': '7' })
    const { status, text, headers } = await post('{}')
    assert.deepEqual([status, text, headers.get('retry-after')], [429, 'too busy', '7'])
    assert.deepEqual(served, [])
  })

  const faults: readonly (readonly [string, () => readonly object[]])[] = [
    ['an endpoint that the backend does not have', () => picks('192.0.2.1:80', '{}')],
    ['no endpoint', () => [{ requestHeaders: {} }]],
    ['what is no status', () => responds(99, '')],
    ['nothing', () => []],
    ['half of a body', () => picks(names[1] ?? '', '{}').slice(0, 2)],
  ]
  for (const [what, decide] of faults) {
    it(`a picker that says ${what} is not followed`, async () => {
      picker.decide = decide
      await serve()
      assert.equal((await post('{}')).status, 503)
      assert.deepEqual(served, [])
      await serve({ failureMode: 'FailOpen' })
      assert.ok(names.includes((await post('{}')).text))
    })
  }

  it('without a picker responds with 503, or lets the backend choose', async () => {
    const nobody = { endpointPicker: { host: '127.0.0.1:1' } }
    await serve(nobody)
    assert.equal((await post('{}')).status, 503)
    await serve({ ...nobody, failureMode: 'FailOpen' })
    const { text } = await post('{}', { [HEADER]: names[0] ?? '' })
    assert.ok(names.includes(text))
    assert.equal(served[0]?.headers[HEADER], undefined)
  })

  it('waits for a picker no longer than its timeout', async () => {
    picker.decide = () => undefined
    await serve({ timeout: '200ms' })
    assert.equal((await post('{}')).status, 503)
    await serve({ timeout: '200ms', failureMode: 'FailOpen' })
    assert.equal((await post('{}')).status, 200)
  })

  it('does not call the picker for a denied request', async () => {
    await serve({}, { policies: { authorization: { rules: [{ deny: 'true' }] } } })
    assert.equal((await post('{}')).status, 403)
    assert.equal(picker.asked.length, 0)
  })
})
