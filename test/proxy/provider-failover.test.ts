import assert from 'node:assert/strict'
import { request, type ServerResponse } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, createServer } from 'node:net'
import { after, before, beforeEach, describe, it } from 'node:test'
import { certify } from '../../src/upstream/fixtures/certificates.ts'
import { GOAWAY, SETTINGS } from '../../src/wire/http2/protocol.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { frame } from './http2-gateway.ts'
import {
  aiConfig,
  deny,
  NOBODY,
  type Provider,
  renew,
  startProvider,
  type WrittenProvider,
} from './providers.ts'
import { until } from './whole-gateway.ts'

let one: Provider
let two: Provider
let three: Provider
let service: Provider
let port = 0
let running: Deciding | undefined
const all = () => [one, two, three, service]

function provider(name: string, { port }: Pick<Provider, 'port'>, policies = {}): WrittenProvider {
  return { name, port, policies }
}

async function serve(text: string): Promise<Deciding> {
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
  return running
}

async function ask(body?: string, headers: Readonly<Record<string, string>> = {}) {
  const init = body === undefined ? {} : { method: 'POST', body }
  const response = await fetch(`http://127.0.0.1:${port}/v1/models`, { headers, ...init })
  return { status: response.status, text: await response.text() }
}

const arrivals = () => [one, two, three].map(({ arrived }) => arrived.length)
const RETRY = { retry: { attempts: 3, codes: [429, 503], backoff: '1ms' } }

describe('failover of AI providers', () => {
  // As late as possible: another test may take a port that is free now.
  before(async () => {
    ;[one, two, three, service] = await Promise.all([
      startProvider('one'),
      startProvider('two'),
      startProvider('three'),
      startProvider('service'),
    ])
    port = await freePort()
  })

  after(async () => {
    await running?.stop()
    for (const provider of all()) await provider.close()
  })

  beforeEach(() => renew(all()))

  describe('within a request', () => {
    it('goes to the next provider if one is unreachable, with the complete body', async () => {
      await serve(aiConfig(port, [[provider('a', NOBODY)], [provider('b', two)]]))
      assert.equal((await ask('hello')).text, 'two')
      assert.equal(two.arrived[0]?.body, 'hello')
      assert.equal(two.arrived[0]?.host, `127.0.0.1:${two.port}`)
    })

    it('never goes to a denied provider', async () => {
      await serve(
        aiConfig(port, [
          [provider('a', NOBODY)],
          [provider('b', two, deny('true')), provider('c', three)],
        ]),
      )
      for (let i = 0; i < 5; i++) assert.equal((await ask('x')).text, 'three')
      assert.deepEqual(arrivals(), [0, 0, 5])
    })

    it('evaluates the entries of a conditional policy for each provider separately', async () => {
      const entry = (name: string, provider: string) => ({
        condition: `backend.provider == '${provider}'`,
        request: { set: { 'x-for': `'${name}'` } },
        response: { set: { 'x-from': `'${name}'` } },
      })
      const transformations = { conditional: [entry('first', 'a'), entry('second', 'b')] }
      const providers = [[provider('a', one)], [provider('b', two)]]
      await serve(aiConfig(port, providers, { backend: { transformations }, route: RETRY }))
      one.respondWith = 503
      const response = await fetch(`http://127.0.0.1:${port}/v1/models`)
      assert.equal(await response.text(), 'two')
      assert.equal(one.arrived[0]?.headers['x-for'], 'first')
      assert.equal(two.arrived[0]?.headers['x-for'], 'second')
      assert.equal(response.headers.get('x-from'), 'second')
    })

    it('responds with 503 if all admitted providers are down, even if others are denied', async () => {
      await serve(aiConfig(port, [[provider('a', NOBODY)], [provider('b', two, deny('true'))]]))
      assert.equal((await ask('x')).status, 503)
      assert.deepEqual(arrivals(), [0, 0, 0])
    })

    it('goes to another provider after a retryable response, and not to a denied one', async () => {
      one.respondWith = 429
      const groups = [
        [provider('a', one)],
        [provider('b', two, deny('true')), provider('c', three)],
      ]
      await serve(aiConfig(port, groups, { route: RETRY }))
      assert.deepEqual(await ask('again'), { status: 200, text: 'three' })
      assert.deepEqual(arrivals(), [1, 0, 1])
      assert.equal(three.arrived[0]?.body, 'again')
    })

    it('calls the same provider again if there is no other', async () => {
      one.respondWith = (_, response) => {
        one.respondWith = 200
        response.writeHead(503).end()
      }
      await serve(
        aiConfig(port, [[provider('a', one), provider('b', two, deny('true'))]], { route: RETRY }),
      )
      assert.deepEqual(await ask('again'), { status: 200, text: 'one' })
      assert.deepEqual(arrivals(), [2, 0, 0])
    })

    it('without a retry policy passes a response on', async () => {
      one.respondWith = 503
      await serve(aiConfig(port, [[provider('a', one)], [provider('b', two)]]))
      assert.equal((await ask('x')).status, 503)
      assert.deepEqual(arrivals(), [1, 0, 0])
    })

    it('takes no header of one provider to the next, traced or not', async () => {
      one.respondWith = 503
      const key = (value: string) => ({ requestHeaders: { set: { 'x-key': value } } })
      const groups = [[provider('a', one, key('secret of a'))], [provider('b', two)]]
      const text = JSON.parse(aiConfig(port, groups, { route: RETRY }))
      const tracing = { host: `127.0.0.1:${service.port}`, protocol: 'http', randomSampling: 1 }
      for (const frontendPolicies of [{}, { tracing }]) {
        for (const provider of all()) provider.arrived.length = 0
        await serve(JSON.stringify({ ...text, frontendPolicies }))
        assert.equal((await ask('x')).text, 'two')
        assert.equal(one.arrived[0]?.headers['x-key'], 'secret of a')
        assert.equal(two.arrived[0]?.headers['x-key'], undefined)
        assert.equal(
          two.arrived[0]?.headers['traceparent'] !== undefined,
          'tracing' in frontendPolicies,
        )
      }
    })
  })

  describe('health', () => {
    it('sends requests to the next group, and back to the first once it is healthy again', async () => {
      let isWell = true
      one.respondWith = (request, response) => {
        const status = request.url === '/health' && !isWell ? 500 : 200
        response.writeHead(status).end('one')
      }
      const check = {
        healthCheck: {
          http: { path: '/health' },
          interval: '20ms',
          timeout: '1s',
          unhealthyThreshold: 1,
        },
      }
      await serve(
        aiConfig(port, [
          [provider('a', one, check)],
          [provider('b', two, deny('true')), provider('c', three)],
        ]),
      )
      assert.equal((await ask()).text, 'one')
      isWell = false
      await until('another to respond', async () => (await ask()).text === 'three')
      assert.equal(two.arrived.length, 0)
      isWell = true
      await until('the first to respond', async () => (await ask()).text === 'one')
    })

    it('ejects the only endpoint of a provider whose responses fail', async () => {
      one.respondWith = 500
      const outlier = {
        outlierDetection: { eviction: { duration: '60s', consecutiveFailures: 2 } },
      }
      await serve(
        aiConfig(port, [[provider('a', one)], [provider('b', two)]], { backend: outlier }),
      )
      assert.deepEqual([(await ask()).status, (await ask()).status], [500, 500])
      await until('another to respond', async () => (await ask()).text === 'two')
    })

    it('does not matter if no other provider is allowed', async () => {
      one.respondWith = 500
      const outlier = {
        outlierDetection: { eviction: { duration: '60s', consecutiveFailures: 1 } },
      }
      const groups = [[provider('a', one)], [provider('b', two, deny('true'))]]
      await serve(aiConfig(port, groups, { backend: outlier }))
      for (let i = 0; i < 4; i++) assert.equal((await ask()).status, 500)
      assert.deepEqual(arrivals(), [4, 0, 0])
    })
  })

  describe('external authorization', () => {
    const asking = (more = {}) => ({
      extAuthz: { host: `127.0.0.1:${service.port}`, protocol: { http: {} }, ...more },
    })

    it('of the backend is called once, regardless of the number of providers considered', async () => {
      const groups = [
        [provider('a', one, deny('true'))],
        [provider('b', two, deny('true')), provider('c', three)],
      ]
      await serve(aiConfig(port, groups, { backend: asking() }))
      assert.equal((await ask()).text, 'three')
      assert.equal(service.arrived.length, 1)
      service.respondWith = 403
      assert.equal((await ask()).status, 403)
      assert.equal(service.arrived.length, 2)
    })

    it('of a provider causes failover to the next one', async () => {
      service.respondWith = 403
      const audit = { authorization: { ...deny('true').authorization, mode: 'Audit' } }
      const gateway = await serve(
        aiConfig(port, [[provider('a', one, asking())], [provider('watched', two, audit)]]),
      )
      assert.deepEqual(await ask('x'), { status: 200, text: 'two' })
      const isRejected = () =>
        gateway.decisions().some(({ credentials }) => credentials?.level === 'provider')
      await until('the record', () => gateway.decisions().some((one) => one.provider === 'watched'))
      assert.equal(isRejected(), false, 'another one responded')
      await serve(aiConfig(port, [[provider('a', one, asking())]]))
      assert.equal((await ask('x')).status, 403)
      assert.deepEqual(arrivals(), [0, 1, 0])
      assert.equal(isRejected(), true)
    })

    it('of a provider does not expose its results to another one', async () => {
      const reported = asking({
        protocol: { http: { metadata: { level: 'string(response.code)' } } },
      })
      const rule = "extauthz.level == '200'"
      const groups = [
        [provider('a', one, { ...reported, ...deny(rule) })],
        [provider('b', two, deny(rule)), provider('c', two, deny(rule))],
      ]
      await serve(aiConfig(port, groups))
      assert.deepEqual(await ask('x'), { status: 200, text: 'two' })
    })
  })

  describe('providers of one group', () => {
    it('are chosen by their load', async () => {
      let finish = () => {}
      one.respondWith = (_, response) => {
        finish = () => void response.end('one')
      }
      await serve(aiConfig(port, [[provider('a', one), provider('b', two)]]))
      const slow = (async () => {
        for (;;) {
          const { text } = await ask()
          if (text === 'one') return
        }
      })()
      await until('one to be at work', () => one.arrived.length === 1)
      for (let i = 0; i < 8; i++) assert.equal((await ask()).text, 'two')
      finish()
      await slow
    })

    it('are removed from the metrics once they are gone', async () => {
      const gateway = await serve(aiConfig(port, [[provider('brief', one, deny('true'))]]))
      await ask()
      const series =
        'portcullis_authorization_decisions_total{policy="provider:models/brief",rule="authorization[0]",verdict="denied",action="Deny",cause="matched"}'
      assert.equal(gateway.metric(series), 1)
      for (let i = 0; i < 3; i++) await serve(aiConfig(port, [[provider('b', two)]]))
      assert.equal(gateway.metric(series), undefined)
    })
  })

  describe('a stream of a provider', () => {
    it('continues when a reload denies its provider, and the next request is rejected', async () => {
      const open: ServerResponse[] = []
      one.respondWith = (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write('data: 1\n\n')
        open.push(response)
      }
      await serve(aiConfig(port, [[provider('a', one)]]))
      const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`)
      const reader = (response.body as ReadableStream<Uint8Array>).getReader()
      const read = async () => Buffer.from((await reader.read()).value ?? []).toString()
      assert.equal(await read(), 'data: 1\n\n')
      await serve(aiConfig(port, [[provider('a', one, deny('true'))]]))
      assert.equal((await ask()).status, 403)
      open[0]?.write('data: 2\n\n')
      assert.equal(await read(), 'data: 2\n\n')
      open[0]?.end()
      assert.equal((await reader.read()).done, true)
    })
  })

  describe('a provider with HTTP/2', () => {
    it('is called over HTTP/2 by clients of HTTP/1.1', async () => {
      const seen: (string | undefined)[] = []
      const server = createHttp2Server((request, response) => {
        seen.push(request.httpVersion, request.headers[':authority'])
        response.end('two')
      })
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
      const own = { port: (server.address() as AddressInfo).port }
      const http = { http: { version: '2' } }
      await serve(aiConfig(port, [[provider('a', two, deny('true'))], [provider('b', own, http)]]))
      assert.deepEqual(await ask('hello'), { status: 200, text: 'two' })
      assert.deepEqual(seen, ['2.0', `127.0.0.1:${own.port}`])
      server.close()
    })

    it('that goes away while it receives a body: no other one gets the rest of it', async () => {
      const server = createServer((socket) => {
        socket.write(frame(SETTINGS, 0, 0, Buffer.alloc(0)))
        // It processes no stream, and cannot be reached again.
        socket.once('data', () => {
          server.close()
          socket.end(frame(GOAWAY, 0, 0, Buffer.alloc(8)))
        })
      })
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
      const own = { port: (server.address() as AddressInfo).port }
      const a = provider('a', own, { http: { version: '2' } })
      await serve(aiConfig(port, [[a], [provider('b', two)]]))
      const options = { host: '127.0.0.1', port, method: 'POST', headers: { 'content-length': 10 } }
      const status = await new Promise((resolve, reject) => {
        const sent = request(options, (response) => {
          resolve(response.resume().statusCode)
          sent.end('world')
        })
        sent.on('error', reject).write('hello')
      })
      assert.equal(status, 503)
      assert.deepEqual(arrivals(), [0, 0, 0])
    })
  })

  describe('rules of a provider about the body', () => {
    it('read it before any provider gets it', async () => {
      const big = deny("string(request.body).contains('gpt-huge')")
      await serve(aiConfig(port, [[provider('a', one, big)], [provider('b', two)]]))
      assert.equal((await ask('{"model":"small"}')).text, 'one')
      assert.equal((await ask('{"model":"gpt-huge"}')).text, 'two')
      assert.equal(two.arrived[0]?.body, '{"model":"gpt-huge"}')
      assert.equal(one.arrived.length, 1)
    })
  })

  describe('mirrors of requests to providers', () => {
    it('get what is forwarded, and nothing that every provider denies', async () => {
      const mirror = { requestMirror: { backend: { host: `127.0.0.1:${service.port}` } } }
      const groups = [[provider('a', one, deny("'x-no' in request.headers"))]]
      await serve(aiConfig(port, groups, { route: mirror }))
      assert.equal((await ask('x', { 'x-no': '1' })).status, 403)
      assert.equal((await ask('x')).status, 200)
      await until('the copy', () => service.arrived.length === 1)
      assert.equal(service.arrived[0]?.headers['x-no'], undefined)
    })
  })

  describe('a provider behind TLS', () => {
    it('is addressed by its own name, in the handshake and in the request', async () => {
      const ca = certify({ name: 'ca' })
      const own = certify({ name: 'models.test', names: ['DNS:localhost'], issuer: ca })
      const seen: (string | undefined | false)[] = []
      const server = createSecureServer({ cert: own.cert, key: own.key }, (request, response) => {
        seen.push(request.headers.host, (request.socket as { servername?: string }).servername)
        response.end('secured')
      })
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
      const { port: securePort } = server.address() as AddressInfo
      const tls = { backendTLS: { root: { inline: ca.cert } } }
      const text = aiConfig(port, [[provider('a', { port: securePort }, tls)]])
      await serve(text.replace(`127.0.0.1:${securePort}`, `https://localhost:${securePort}`))
      assert.equal((await ask()).text, 'secured')
      assert.deepEqual(seen, [`localhost:${securePort}`, 'localhost'])
      server.close()
      server.closeAllConnections()
    })
  })
})
