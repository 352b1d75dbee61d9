import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { loadText } from '../../src/sources/file/load.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import {
  type Heard,
  newBody,
  piece,
  responds,
  type Service,
  says,
  startProcessor,
} from './processor.ts'

let service: Service
let backend: Server
let port = 0
let running: Deciding | undefined
/** What the backend received, and what it sends. */
let arrived: {
  readonly url: string
  readonly headers: IncomingMessage['headers']
  body: string
}[] = []
let pieces: readonly string[] = ['hello']

const BODILESS = { requestBodyMode: 'none', responseBodyMode: 'none' }

async function serve(extProc: object, more: object = {}, gateway: object = {}): Promise<void> {
  const { host = `127.0.0.1:${service.port}`, ...rest } = extProc as { host?: string }
  const own = 'conditional' in rest ? rest : { host, ...rest }
  const text = JSON.stringify({
    gateways: { default: { port } },
    ...gateway,
    routes: [
      {
        name: 'all',
        policies: { extProc: own, ...more },
        backends: [{ host: `127.0.0.1:${(backend.address() as AddressInfo).port}` }],
      },
    ],
  })
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
}

async function call(path = '/', init: RequestInit = {}) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, init)
  return { status: response.status, headers: response.headers, text: await response.text() }
}
const post = (body: string, path = '/') => call(path, { method: 'POST', body })

const phases = () => service.heard.map(({ phase }) => phase)
/** Continues without changes. */
const agree = ({ phase }: Heard) => [says(phase)]

/** The last line of the access log. */
async function line() {
  await wait(20)
  return JSON.parse(running?.lines.at(-1) ?? '{}')
}

describe('a service that processes requests', () => {
  before(async () => {
    service = await startProcessor()
    backend = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk) => chunks.push(chunk))
      request.on('end', () => {
        const { url = '', headers } = request
        arrived.push({ url, headers, body: Buffer.concat(chunks).toString() })
        response.writeHead(200, {
          'x-made-by': 'backend',
          'content-type': 'text/plain',
          ...(pieces.length === 0 ? { 'content-length': 0 } : {}),
        })
        for (const one of pieces) response.write(one)
        response.end()
      })
    })
    await new Promise<void>((done) => backend.listen(0, '127.0.0.1', done))
    port = await freePort()
  })

  after(async () => {
    await running?.stop()
    service?.close()
    backend?.close()
    backend?.closeAllConnections()
  })

  beforeEach(() => {
    service.heard.length = 0
    service.respondWith = agree
    arrived = []
    pieces = ['hello']
  })

  it('gets the headers of both, and changes them', async () => {
    await serve({ processingOptions: BODILESS })
    service.respondWith = ({ phase }) =>
      phase === 'requestHeaders'
        ? [says(phase, { set: { 'x-user': 'alice', ':path': '/b?c=1' }, remove: ['x-secret'] })]
        : [says(phase, { set: { ':status': '202', 'x-new': '1' }, append: { 'x-made-by': 'me' } })]
    const { status, headers, text } = await call('/a', {
      headers: { 'x-secret': '1', 'x-user': 'mallory' },
    })
    assert.deepEqual([status, text], [202, 'hello'])
    assert.equal(headers.get('x-new'), '1')
    assert.equal(headers.get('x-made-by'), 'backend, me')
    assert.equal(arrived[0]?.url, '/b?c=1')
    assert.equal(arrived[0]?.headers['x-user'], 'alice')
    assert.equal(arrived[0]?.headers['x-secret'], undefined)
    const [first, second] = service.heard
    assert.deepEqual(phases(), ['requestHeaders', 'responseHeaders'])
    assert.equal(first?.headers[':path'], '/a')
    assert.equal(first?.headers[':method'], 'GET')
    assert.equal(first?.headers['x-secret'], '1')
    assert.equal(first?.endOfStream, true)
    assert.equal(second?.headers[':status'], '200')
    assert.equal(second?.headers['x-made-by'], 'backend')
  })

  it('gets complete bodies, and replaces them', async () => {
    await serve({
      processingOptions: { requestBodyMode: 'buffered', responseBodyMode: 'buffered' },
    })
    pieces = ['hel', 'lo']
    service.respondWith = ({ phase, body }) => [
      phase.endsWith('Body')
        ? says(phase, {
            set: { 'x-size': String(body.length) },
            bodyMutation: newBody(`<${body}>`),
          })
        : says(phase),
    ]
    const { status, text, headers } = await post('question')
    assert.deepEqual([status, text], [200, '<hello>'])
    assert.equal(headers.get('x-size'), '5')
    assert.deepEqual([arrived[0]?.body, arrived[0]?.headers['x-size']], ['<question>', '8'])
    assert.deepEqual(
      service.heard.map(({ phase, body, endOfStream }) => [phase, body, endOfStream]),
      [
        ['requestHeaders', '', false],
        ['requestBody', 'question', true],
        ['responseHeaders', '', false],
        ['responseBody', 'hello', true],
      ],
    )
  })

  it('leaves bodies unchanged or clears them', async () => {
    await serve({
      processingOptions: { requestBodyMode: 'buffered', responseBodyMode: 'buffered' },
    })
    assert.equal((await post('question')).text, 'hello')
    assert.equal(arrived[0]?.body, 'question')
    service.respondWith = ({ phase }) => [
      says(phase, phase.endsWith('Body') ? { bodyMutation: { clearBody: true } } : {}),
    ]
    assert.equal((await post('question')).text, '')
    assert.equal(arrived[1]?.body, '')
  })

  it('streams bodies through it in chunks of any size', async () => {
    await serve({})
    pieces = ['one ', 'two ', 'three']
    let read = ''
    service.respondWith = ({ phase, body, endOfStream }) => {
      if (phase === 'requestBody') {
        // Reads to the end before it responds, even to the headers.
        read += body
        if (!endOfStream) return undefined
        const half = read.length / 2
        return [
          says('requestHeaders', { set: { 'x-read': String(read.length) } }),
          says(phase, { bodyMutation: piece(read.slice(0, half).toUpperCase(), false) }),
          says(phase, { bodyMutation: piece(read.slice(half), true) }),
        ]
      }
      if (phase === 'requestHeaders') return undefined
      if (phase === 'responseHeaders') return [says(phase)]
      return [says(phase, { bodyMutation: piece(`[${body}]`, endOfStream) })]
    }
    const long = 'ab'.repeat(100_000)
    const { status, text } = await post(long)
    assert.equal(status, 200)
    assert.equal(arrived[0]?.headers['x-read'], '200000')
    assert.equal(arrived[0]?.body, 'AB'.repeat(50_000) + 'ab'.repeat(50_000))
    assert.equal(text.replaceAll(/[[\]]/g, ''), 'one two three')
    assert.match(text, /^\[one.*\]\[\]$/)
    assert.deepEqual(service.heard[0]?.message.protocolConfig, {
      requestBodyMode: 4,
      responseBodyMode: 4,
    })
  })

  it('streams unchanged bodies as they arrive', async () => {
    await serve({})
    pieces = ['one ', 'two']
    assert.equal((await post('question')).text, 'one two')
    assert.equal(arrived[0]?.body, 'question')
    assert.equal((await call()).text, 'one two')
  })

  it('responds in place of the backend, in either direction', async () => {
    await serve({ processingOptions: BODILESS })
    service.respondWith = () => [
      responds(418, 'no', { 'x-why': 'tea', 'content-type': 'text/tea' }),
    ]
    const { status, text, headers } = await call()
    assert.deepEqual([status, text, headers.get('x-why')], [418, 'no', 'tea'])
    assert.equal(headers.get('content-type'), 'text/tea')
    assert.equal(arrived.length, 0)
    const { reason, detail } = await line()
    assert.deepEqual([reason, detail], ['external-processing', 'because'])
    service.respondWith = ({ phase }) =>
      phase === 'requestHeaders' ? [says(phase)] : [responds(451, 'gone')]
    assert.deepEqual((await call()).status, 451)
    assert.equal(arrived.length, 1)
  })

  it('gets what expressions compute', async () => {
    await serve({
      processingOptions: BODILESS,
      requestAttributes: { path: 'request.path', none: `request.headers['x-none']` },
      responseAttributes: { code: 'response.code' },
      metadataContext: { mine: { method: 'request.method' } },
    })
    await call('/x')
    const [first, second] = service.heard
    const namespace = 'envoy.filters.http.ext_proc'
    assert.deepEqual(first?.message.attributes, {
      [namespace]: { fields: { path: { stringValue: '/x' } } },
    })
    assert.deepEqual(first?.message.metadataContext, {
      filterMetadata: { mine: { fields: { method: { stringValue: 'GET' } } } },
    })
    assert.deepEqual(second?.message.attributes, {
      [namespace]: { fields: { code: { numberValue: 200 } } },
    })
  })

  for (const [title, extProc, said] of [
    ['nobody listens', { host: '127.0.0.1:1' }, undefined],
    ['it says nothing', { timeout: '50ms' }, () => undefined],
    ['it ends the stream', {}, () => 'end' as const],
    ['it speaks of something else', {}, () => [says('responseBody')]],
    ['it wants another method', {}, () => [says('requestHeaders', { set: { ':method': 'PUT' } })]],
    ['it wants a bad header', {}, () => [says('requestHeaders', { set: { 'x-a': 'a\nb' } })]],
    ['it wants a bad path', {}, () => [says('requestHeaders', { set: { ':path': 'x' } })]],
    ['it says what nobody understands', {}, () => [{}]],
  ] as const) {
    it(`fails closed, or open where that is wanted: ${title}`, async () => {
      service.respondWith = said ?? agree
      await serve({ processingOptions: BODILESS, ...extProc })
      assert.equal((await call()).status, 500)
      assert.equal(arrived.length, 0)
      assert.equal((await line()).reason, 'external-processing')
      await serve({ processingOptions: BODILESS, ...extProc, failureMode: 'failOpen' })
      assert.deepEqual((await call()).text, 'hello')
    })
  }

  it('fails closed for responses, too', async () => {
    for (const processingOptions of [
      { ...BODILESS },
      { requestBodyMode: 'none', responseBodyMode: 'buffered' },
    ]) {
      await serve({ processingOptions })
      service.respondWith = ({ phase }) => (phase === 'requestHeaders' ? [says(phase)] : 'end')
      assert.equal((await call()).status, 500)
    }
    await serve({ failureMode: 'failOpen' })
    pieces = ['one ', 'two']
    service.respondWith = ({ phase }) => (phase === 'responseBody' ? 'end' : [says(phase)])
    assert.equal((await call()).text, 'one two')
    await serve({})
    assert.equal((await call()).status, 500)
  })

  it('can skip the remaining phases, if allowed', async () => {
    const processingOptions = {
      ...{ requestBodyMode: 'buffered', responseBodyMode: 'buffered', allowModeOverride: true },
    }
    const modeOverride = { responseHeaderMode: 2, requestBodyMode: 0, responseBodyMode: 0 }
    service.respondWith = ({ phase }) => [says(phase, { modeOverride })]
    await serve({ processingOptions })
    assert.equal((await post('question')).text, 'hello')
    assert.deepEqual(phases(), ['requestHeaders'])
    service.heard.length = 0
    await serve({ processingOptions: { ...processingOptions, allowModeOverride: false } })
    assert.equal((await post('question')).text, 'hello')
    assert.equal(phases().length, 4)
    await serve({ processingOptions })
    service.respondWith = ({ phase }) => [says(phase, { modeOverride: { responseBodyMode: 1 } })]
    assert.equal((await post('question')).status, 500)
  })

  it('reads no more of a body than fits', async () => {
    const gateway = { frontendPolicies: { http: { maxBufferSize: 1000 } } }
    const long = 'a'.repeat(5000)
    const options = (requestBodyMode: string) => ({
      processingOptions: { requestBodyMode, responseBodyMode: 'none' },
    })
    for (const mode of ['buffered', 'fullDuplexStreamed']) {
      await serve(options(mode), {}, gateway)
      assert.equal((await post(long)).status, 413)
      assert.equal(arrived.length, 0)
    }
    await serve(options('bufferedPartial'), {}, gateway)
    assert.equal((await post(long)).status, 200)
    assert.equal(arrived[0]?.body, long)
    const { body = '', endOfStream } =
      service.heard.find(({ phase }) => phase === 'requestBody') ?? {}
    assert.equal(long.startsWith(body) && body.length > 0 && body.length < 5000, true)
    assert.equal(endOfStream, false)
    service.respondWith = ({ phase }) => [
      says(phase, phase === 'requestBody' ? { bodyMutation: newBody('b') } : {}),
    ]
    assert.equal((await post(long)).status, 500)
    assert.equal((await post('short')).status, 200)
    assert.equal(arrived.at(-1)?.body, 'b')
    await serve(
      { processingOptions: { requestBodyMode: 'none', responseBodyMode: 'buffered' } },
      {},
      gateway,
    )
    service.respondWith = agree
    pieces = [long]
    assert.equal((await call()).status, 502)
  })

  for (const responseBodyMode of ['none', 'buffered', 'fullDuplexStreamed']) {
    it(`passes a response that says it is empty, ${responseBodyMode}`, async () => {
      await serve({ processingOptions: { requestBodyMode: 'none', responseBodyMode } })
      pieces = []
      const { status, text } = await call()
      assert.deepEqual([status, text], [200, ''])
      assert.deepEqual(phases(), ['requestHeaders', 'responseHeaders'])
      assert.equal(service.heard.at(-1)?.endOfStream, true)
    })
  }

  it('is called after the rules, and by condition', async () => {
    const host = `127.0.0.1:${service.port}`
    const conditional = [
      { condition: `request.path.startsWith('/up')`, host, processingOptions: BODILESS },
    ]
    const rules = [{ deny: `request.path == '/up/secret'` }]
    await serve({ conditional }, { authorization: { rules } })
    assert.equal((await call('/up/secret')).status, 403)
    assert.equal((await call('/other')).status, 200)
    assert.deepEqual(phases(), [])
    assert.equal((await call('/up/a')).status, 200)
    assert.deepEqual(phases(), ['requestHeaders', 'responseHeaders'])
  })

  it('closes its streams, also for clients that disconnect', async () => {
    await serve({ processingOptions: BODILESS })
    await Promise.all(Array.from({ length: 5 }, () => call()))
    service.respondWith = () => undefined
    const gone = new AbortController()
    const asked = call('/', { signal: gone.signal }).catch(() => 'gone')
    for (let i = 0; i < 100 && service.open === 0; i++) await wait(10)
    gone.abort()
    assert.equal(await asked, 'gone')
    for (let i = 0; i < 100 && service.open > 0; i++) await wait(10)
    assert.equal(service.open, 0)
  })

  it('rejects unsupported settings', () => {
    const problems = (extProc: object) => {
      const text = JSON.stringify({
        gateways: { default: { port: 8080 } },
        routes: [{ policies: { extProc }, backends: [{ host: 'a:1' }] }],
      })
      const { diagnostics } = loadText(text, 'a.json', { environment: {} }).result
      return diagnostics.map(({ message }) => message)
    }
    const partial = { responseBodyMode: 'bufferedPartial' }
    assert.match(String(problems({ host: 'a:1', processingOptions: partial })), /not supported/)
    const entry = (condition: string, responseBodyMode: string) => ({
      ...{ condition, host: 'a:1', processingOptions: { responseBodyMode } },
    })
    const mixed = [entry('true', 'none'), entry('true', 'buffered')]
    assert.match(String(problems({ conditional: mixed })), /different `responseBodyMode`/)
    assert.deepEqual(problems({ host: 'a:1' }), [])
  })
})
