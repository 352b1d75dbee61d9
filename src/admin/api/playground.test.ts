import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { Model } from '../../model/model.ts'
import type { ApiReply, Call } from './define.ts'
import type { ApiDeps } from './deps.ts'
import { responseSchema } from './fixtures/response-schema.ts'
import { openApiOf } from './openapi.ts'
import { PLAYGROUND_ENDPOINTS } from './playground.ts'

const LARGE = 3_000_000

describe('the playground', () => {
  let server: Server
  let model: Model

  before(async () => {
    server = createServer((request, response) => {
      if (request.url === '/large') return response.end('x'.repeat(LARGE))
      if (request.url === '/cut') return response.destroy()
      let body = ''
      request.on('data', (bytes) => (body += bytes))
      request.on('end', () => {
        const { method, url, headers } = request
        response.setHeader('x-seen', 'yes')
        response.statusCode = 418
        response.end(JSON.stringify({ method, url, headers, body }))
      })
      return undefined
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const listeners = [
      { name: 'tcp', protocol: 'TCP', port: 1 },
      { name: 'web', protocol: 'HTTP', port, hostname: '*.example.com' },
    ]
    model = { gateways: [{ name: 'default', listeners }] } as unknown as Model
  })

  after(() => {
    server.close()
    server.closeAllConnections()
  })

  const play = async (given: object): Promise<ApiReply> => {
    const [endpoint] = PLAYGROUND_ENDPOINTS
    const body = endpoint?.body?.parse(given)
    const deps = { status: () => ({ model }) } as unknown as ApiDeps
    return (await endpoint?.run({ body } as Call, deps)) ?? assert.fail()
  }

  it('sends a request to a listener and returns the response', async () => {
    const headers = { 'x-a': 'b', 'Content-Length': '99', connection: 'upgrade' }
    const reply = await play({ method: 'POST', path: '/a?b', headers, body: 'text' })
    const {
      status,
      headers: own,
      body,
      isCut,
    } = reply.body as {
      readonly status: number
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
      readonly isCut: boolean
    }
    assert.deepEqual([reply.status, status, isCut, own['x-seen']], [200, 418, false, 'yes'])
    const seen = JSON.parse(body)
    assert.deepEqual([seen.method, seen.url, seen.body], ['POST', '/a?b', 'text'])
    assert.equal(seen.headers['x-a'], 'b')
    assert.equal(seen.headers['content-length'], '4')
    assert.equal(seen.headers.host, 'playground.example.com')
    const schema = responseSchema(openApiOf(PLAYGROUND_ENDPOINTS, '1'), '/api/playground', 'POST')
    assert.deepEqual(schema.safeParse(reply.body).error, undefined)
  })

  it('reaches only HTTP listeners of this gateway', async () => {
    for (const listener of ['default/tcp', 'other/web', '127.0.0.1:22', 'example.com']) {
      const { status, body } = await play({ listener, path: '/' })
      assert.equal(status, 404)
      assert.match((body as { detail: string }).detail, /available: default\/web$/)
    }
    for (const path of ['http://example.com/', '//x y', 'x', '/a\r\nb: c', '']) {
      await assert.rejects(play({ path }), path)
    }
    await assert.rejects(play({ path: '/', method: 'GET / HTTP/1.1\r\nx: y' }))
  })

  it('truncates a response at its limit and reports one that is cut off', async () => {
    const { body } = await play({ path: '/large' })
    const { body: text, isCut } = body as { body: string; isCut: boolean }
    assert.equal(isCut, true)
    assert.ok(text.length < LARGE / 2)
    assert.equal((await play({ path: '/cut' })).status, 503)
    assert.equal((await play({ path: '/', headers: { 'a\n': 'b' } })).status, 400)
  })
})
