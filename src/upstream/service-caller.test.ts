import assert from 'node:assert/strict'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, describe, it } from 'node:test'
import { exchangeOf } from '../../test/fuzz/exchanges.ts'
import type { ServiceRequest } from '../exchange/service-call.ts'
import type { Backend } from '../model/backend.ts'
import { Deadlines } from '../wire/deadlines.ts'
import { openCluster } from './clusters.ts'
import { Resolver } from './dns.ts'
import { systemNames } from './name-source.ts'
import { serviceCaller } from './service-caller.ts'

const resolver = new Resolver({ lookupFamily: 'V4Only' }, { source: systemNames() })
const servers: Server[] = []
after(() => {
  resolver.close()
  for (const server of servers) {
    server.close()
    server.closeAllConnections()
  }
})

const QUESTION: ServiceRequest = {
  method: 'GET',
  path: '/',
  authority: '',
  headers: [],
  body: Buffer.alloc(0),
  timeout: 2_000,
  maxBytes: 64,
}

async function open(listener: RequestListener) {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const origin = { kind: 'object', object: 'test', field: '' } as const
  const endpoints = [{ host: '127.0.0.1', port }]
  const backend: Backend = { kind: 'host', name: 'test', origin, policies: [], endpoints }
  const keepalive = { enabled: false, time: 1, interval: 1, retries: 1 }
  const settings = { connectTimeout: 500, idleTimeout: 1_000, maxAge: 3_600_000, keepalive }
  const around = { settings, deadlines: new Deadlines(20), resolver }
  const ask = serviceCaller(openCluster(backend, [], around))
  return (question: Partial<ServiceRequest> = {}) => ask(exchangeOf(), { ...QUESTION, ...question })
}

describe('a call to a service', () => {
  it('sends head and body, and returns all response fields', async () => {
    const ask = await open(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      response.writeHead(201, { 'x-said': body, 'set-cookie': ['a=1', 'b=2'] })
      response.end(
        `${request.method} ${request.url} ${request.headers.host} ${request.headers['x-a']}`,
      )
    })
    const headers = [['x-a', 'b']] as const
    const body = Buffer.from('body')
    const response = await ask({ method: 'PUT', path: '/x?y', authority: 'me', headers, body })
    assert.ok(!('failure' in response))
    assert.equal(response.status, 201)
    assert.equal(Buffer.from(response.body).toString(), 'PUT /x?y me b')
    assert.equal(response.headers.get('X-Said'), 'body')
    const cookies = response.fields.filter(([name]) => name === 'set-cookie')
    assert.deepEqual(
      cookies.map(([, value]) => value),
      ['a=1', 'b=2'],
    )
  })

  for (const [what, question] of [
    ['a line break in a header', { headers: [['x', 'a\r\nb: c']] }],
    ['a name that is none', { headers: [['x y', 'a']] }],
    ['a path with a space', { path: '/a HTTP/1.1\r\nx: y' }],
    ['a path that is none', { path: 'a' }],
    ['a method that is none', { method: 'GET /' }],
    ['a host with a line break', { authority: 'a\r\nb: c' }],
  ] as const) {
    it(`${what} is not sent`, async () => {
      let asked = 0
      const ask = await open((_, response) => {
        asked++
        response.end()
      })
      assert.deepEqual(await ask(question), { failure: 'bad-question' })
      assert.equal(asked, 0)
    })
  }

  it('fails if the response is too long or missing', async () => {
    const long = await open((_, response) => response.end('x'.repeat(65)))
    assert.deepEqual(await long(), { failure: 'too-large' })
    const silent = await open(() => {})
    assert.deepEqual(await silent({ timeout: 20 }), { failure: 'timeout' })
    const broken = await open((request) => request.socket.destroy())
    assert.ok('failure' in (await broken()))
  })

  it('is retried if the service closed an idle connection', async () => {
    const used = new WeakSet<object>()
    const ask = await open((request, response) => {
      if (used.has(request.socket)) request.socket.destroy()
      else response.end('ok')
      used.add(request.socket)
    })
    for (let i = 0; i < 4; i++) {
      const response = await ask({ method: 'POST', body: Buffer.from('body') })
      assert.ok(!('failure' in response), JSON.stringify(response))
    }
  })

  it('is rejected beyond the max in flight', async () => {
    const ask = await open(() => {})
    const all = await Promise.all(Array.from({ length: 1_100 }, () => ask({ timeout: 300 })))
    const failures = all.map((response) => ('failure' in response ? response.failure : ''))
    assert.equal(failures.filter((failure) => failure === 'overloaded').length, 76)
    const next = await ask({ timeout: 20 })
    assert.ok('failure' in next && next.failure !== 'overloaded', 'and then there is room')
  })
})
