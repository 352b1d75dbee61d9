import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { Model } from '../../src/model/model.ts'
import { Gateway } from '../../src/proxy/gateway.ts'
import { loadFile } from '../../src/sources/file/load.ts'
import { renderPrometheus } from '../../src/telemetry/exposition-text.ts'
import { createLogger } from '../../src/telemetry/log.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { freePort } from '../free-port.ts'
import { steady } from '../steady-settings.ts'
import { exchange } from './harness.ts'
import { spansIn } from './spans.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
const seen: IncomingHttpHeaders[] = []
const batches: Buffer[] = []
let backend: Server
let collector: Server

async function listening(server: Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return (server.address() as AddressInfo).port
}

const portOf = (server: Server) => (server.address() as AddressInfo).port

before(async () => {
  let failures = 0
  backend = createServer((request, response) => {
    seen.push(request.headers)
    const isBusy = request.url === '/busy' && failures++ % 2 === 0
    response.writeHead(isBusy ? 503 : 200, {
      'content-length': 5,
      'x-made-by': 'backend',
      'x-inner': 'secret',
    })
    response.end('hello')
  })
  collector = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      assert.equal(request.url, '/traces')
      batches.push(Buffer.concat(chunks))
      response.end()
    })
  })
  await Promise.all([listening(backend), listening(collector)])
})

after(() => {
  for (const server of [backend, collector]) {
    server.close()
    server.closeAllConnections()
  }
  rmSync(folder, { recursive: true })
})

interface Started {
  readonly get: (path?: string, headers?: Record<string, string>) => Promise<Response>
  readonly post: (path: string, body: string) => Promise<Response>
  readonly lines: readonly Readonly<Record<string, unknown>>[]
  readonly metrics: () => string
  readonly apply: (text: string) => Promise<void>
  readonly stop: () => Promise<unknown>
}

const read = (text: string) => {
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, text)
  const { result, settings } = loadFile(file, { environment: {} })
  const { value, diagnostics } = result
  assert.ok(value, JSON.stringify(diagnostics))
  return { model: value, settings: steady(settings ?? assert.fail()) }
}

function config(port: number, frontend: string, route = 'all', name = 'first'): string {
  return `gateways:
  default:
    port: ${port}
${frontend === '' ? '' : `frontendPolicies:\n${frontend}\n`}routes:
- name: ${route}
  gateways: [default]
  policies:
    authorization:
      rules:
      - deny: request.path == '/secret'
    responseHeaders:
      remove: [x-inner]
    requestHeaders:
      set: { x-set: 'yes' }
    retry: { attempts: 1, codes: [503], backoff: 1ms }
  backends:
  - backend: ${name}
backends:
- name: ${name}
  host: 127.0.0.1:${portOf(backend)}
`
}

async function start(frontend: string): Promise<Started & { readonly port: number }> {
  const port = await freePort()
  const text = config(port, frontend)
  const { model, settings } = read(text)
  const lines: Record<string, unknown>[] = []
  const write = (line: string) => void lines.push(JSON.parse(line))
  const log = createLogger({ format: 'json', level: 'info', write })
  const metrics = createMetrics()
  const gateway = new Gateway({ settings, log, metrics, reusePort: false })
  const apply = async (next: Model) => {
    const { isApplied, diagnostics } = await gateway.apply(next)
    assert.ok(isApplied, JSON.stringify(diagnostics))
  }
  await apply(model)
  const ask = async (path: string, init: RequestInit) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init)
    await response.text()
    await wait(5)
    return response
  }
  return {
    port,
    get: (path = '/', headers = {}) => ask(path, { headers }),
    post: (path, body) => ask(path, { method: 'POST', body }),
    lines,
    metrics: () => [...renderPrometheus(metrics.read())].join(''),
    apply: (text) => apply(read(text).model),
    stop: () => gateway.drain(),
  }
}

describe('the access log', () => {
  for (const [title, policy, paths, expected] of [
    ['without a policy has every request', '', ['/', '/secret'], [200, 403]],
    ['can be off', '  accessLog: { enabled: false }', ['/', '/secret'], []],
    [
      'has only what its filter is true for',
      '  accessLog: { filter: response.code >= 400 }',
      ['/', '/secret', '/'],
      [403],
    ],
    [
      'always has denials, whatever the share',
      '  accessLog: { sample: 0 }',
      ['/', '/secret'],
      [403],
    ],
    [
      'takes what has no value for false',
      `  accessLog: { filter: "jwt.sub == 'alice'" }`,
      ['/', '/secret'],
      [],
    ],
  ] as const) {
    it(title, async () => {
      const gateway = await start(policy)
      for (const path of paths) await gateway.get(path)
      assert.deepEqual(
        gateway.lines.map((line) => line['http.status']),
        expected,
      )
      await gateway.stop()
    })
  }

  it('has additional fields, and omits those that are removed', async () => {
    const gateway = await start(`  accessLog:
    remove: [http.host, src.addr]
    add:
      agent: request.headers['user-agent']
      maker: response.headers['X-Made-By']
      inner: response.headers['x-inner']
      size: response.bytes
      quick: response.duration < duration('10s')
      made: response.flags
      from: backend.name
      body: string(request.body)
      absent: jwt.sub
      reason: '"overwritten"'`)
    await gateway.get('/', { 'user-agent': 'me' })
    await gateway.post('/', 'question')
    await gateway.get('/secret')
    const [first, second, denied] = gateway.lines
    const own = ['agent', 'maker', 'inner', 'size', 'quick', 'made', 'from', 'absent', 'reason']
    assert.deepEqual(
      own.map((name) => first?.[name]),
      ['me', 'backend', undefined, 5, true, '', 'first', undefined, 'overwritten'],
    )
    assert.equal(first?.['http.host'], undefined)
    assert.equal(first?.['src.addr'], undefined)
    assert.equal(first?.['http.path'], '/')
    assert.equal(second?.body, 'question')
    assert.equal(second?.['bytes.received'], 8)
    assert.deepEqual(
      [denied?.made, denied?.maker, denied?.from],
      ['authorization', undefined, undefined],
    )
    await gateway.stop()
  })

  it('has the headers of each request, regardless of how they arrive', async () => {
    const gateway = await start(`  accessLog: { add: { n: "request.headers['n']" } }`)
    const get = (n: number) => `GET /${n} HTTP/1.1\r\nhost: x\r\nn: ${n}\r\n\r\n`
    await exchange(gateway.port, get(1) + get(2) + get(3), /(hello.*){3}/s)
    assert.deepEqual(
      gateway.lines.map((line) => `${line['http.path']} ${line.n}`),
      ['/1 1', '/2 2', '/3 3'],
    )
    await gateway.stop()
  })
})

const TRACED = (more = '') => `  tracing:
    host: 127.0.0.1:${portOf(collector)}
    protocol: http
    path: /traces
    ${more}`

const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

describe('tracing', () => {
  it('continues a trace from the client, propagates it, and sends spans on shutdown', async () => {
    batches.length = 0
    const gateway = await start(
      TRACED(`attributes: { who: "request.headers['x-user']" }
    remove: [client.address]
    resources: { deployment.environment: "'test'" }`),
    )
    await gateway.get('/busy', { traceparent: PARENT, tracestate: 'a=1', 'x-user': 'alice' })
    const [rejected, served] = seen.slice(-2)
    assert.match(String(rejected?.traceparent), /^00-4bf92f3577b34da6a3ce929d0e0e4736-\w{16}-01$/)
    assert.notEqual(rejected?.traceparent, served?.traceparent, 'each attempt is a span')
    assert.deepEqual([served?.tracestate, served?.['x-set']], ['a=1', 'yes'])
    const [line] = gateway.lines
    assert.equal(line?.['trace.id'], '4bf92f3577b34da6a3ce929d0e0e4736')
    assert.equal(line?.['retry.attempt'], 1)
    await gateway.stop()
    const spans = spansIn(batches)
    assert.equal(spans.length, 3)
    const server = spans.find(({ name }) => name === 'GET all')
    assert.equal(server?.parentId, '00f067aa0ba902b7')
    assert.equal(server?.spanId, line?.['span.id'])
    assert.equal(server?.attributes.who, 'alice')
    assert.equal(server?.attributes['client.address'], undefined)
    assert.equal(server?.attributes['portcullis.route'], 'all')
    const clients = spans.filter((span) => span !== server)
    assert.ok(clients.every(({ parentId }) => parentId === server?.spanId))
    assert.ok(String(served?.traceparent).includes(String(clients[1]?.spanId)))
    assert.ok(batches.some((batch) => batch.includes('deployment.environment')))
    assert.match(gateway.metrics(), /^portcullis_trace_spans_exported_total 3$/m)
  })

  for (const [title, policy, traceparent, flags, spans] of [
    ['begins no trace by default, but tells the backend so', '', undefined, '02', 0],
    ['begins a trace where it should', 'randomSampling: true', undefined, '03', 2],
    ['asks an expression', `randomSampling: request.path == '/'`, undefined, '03', 2],
    ['a client may not ask where it is not granted', 'clientSampling: false', PARENT, '00', 0],
    ['sends only what the filter is true for', 'filter: response.code >= 500', PARENT, '01', 0],
    ['a context that is none begins anew', 'randomSampling: 1', 'nonsense', '03', 2],
  ] as const) {
    it(title, async () => {
      batches.length = 0
      const gateway = await start(TRACED(policy))
      await gateway.get('/', traceparent === undefined ? {} : { traceparent })
      assert.equal(String(seen.at(-1)?.traceparent).slice(-2), flags)
      await gateway.stop()
      assert.equal(spansIn(batches).length, spans)
    })
  }

  it('uses gRPC for collectors that require it', async () => {
    const calls: string[] = []
    const server = createHttp2Server()
    server.on('stream', (stream: ServerHttp2Stream, headers) => {
      calls.push(`${headers[':path']} ${headers['content-type']}`)
      stream.respond({ 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.resume()
      stream.end(Buffer.alloc(5))
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const { port } = server.address() as AddressInfo
    const gateway = await start(`  tracing: { host: "127.0.0.1:${port}", randomSampling: 1 }`)
    await gateway.get('/')
    await gateway.stop()
    const path = '/opentelemetry.proto.collector.trace.v1.TraceService/Export'
    assert.deepEqual(calls, [`${path} application/grpc+proto`])
    assert.match(gateway.metrics(), /^portcullis_trace_spans_exported_total 2$/m)
    server.close()
  })

  it('drops spans that no collector accepts, and reports it, without any request failing', async () => {
    const nobody = await freePort()
    const gateway = await start(`  tracing: { host: "127.0.0.1:${nobody}", randomSampling: 1 }`)
    assert.equal((await gateway.get('/')).status, 200)
    await gateway.stop()
    assert.match(gateway.metrics(), /^portcullis_trace_spans_dropped_total.*"stopped"\} 2$/m)
    assert.equal(gateway.lines.at(-1)?.scope, 'tracing')
  })

  it("propagates the client's trace if there is no policy", async () => {
    const gateway = await start('')
    await gateway.get('/', { traceparent: PARENT })
    assert.equal(seen.at(-1)?.traceparent, PARENT)
    assert.equal(gateway.lines[0]?.['trace.id'], undefined)
    await gateway.stop()
  })
})

describe('metrics', () => {
  it('cover requests, attempts, retries and connections', async () => {
    const gateway = await start('')
    await gateway.get('/busy')
    await gateway.get('/')
    await exchange(gateway.port, `GET / HTTP/1.1\r\nhost: x\r\na: ${'a'.repeat(99_999)}`, '431')
    const text = gateway.metrics()
    for (const line of [
      /^portcullis_request_first_byte_seconds_count\{listener="default\/\w+",route="all"\} 2$/m,
      /^portcullis_request_overhead_seconds_count\{listener="default\/\w+",route="all"\} 2$/m,
      /^portcullis_upstream_requests_total\{backend="first",outcome="5xx",purpose="proxy"\} 1$/m,
      /^portcullis_upstream_requests_total\{backend="first",outcome="2xx",purpose="retry"\} 1$/m,
      /^portcullis_upstream_request_duration_seconds_count\{backend="first"\} 3$/m,
      /^portcullis_limit_hits_total\{listener="none",limit="head-size"\} 1$/m,
      /^portcullis_upstream_retries_total\{backend="first",reason="status"\} 1$/m,
      /^portcullis_downstream_connections_active\{listener="default\/\w+",protocol="http1"\} [1-9]/m,
    ])
      assert.match(text, line)
    await gateway.stop()
    const after = gateway.metrics()
    assert.match(after, /connections_active\{listener="default\/\w+",protocol="http1"\} 0$/m)
    assert.match(after, /connections_closed_total\{.*reason="(drain|client)"\} [1-9]/)
  })

  it('cover the decisions of rate limits', async () => {
    const gateway = await start('')
    const limit = '    localRateLimit: { requests: 1, unit: Hours }'
    const limited = config(gateway.port, '').replace('    responseHeaders:', `${limit}\n$&`)
    await gateway.apply(limited)
    for (const status of [200, 429, 429]) assert.equal((await gateway.get('/')).status, status)
    const text = gateway.metrics()
    assert.match(text, /^portcullis_rate_limit_decisions_total\{.*outcome="allowed"\} 1$/m)
    assert.match(text, /^portcullis_rate_limit_decisions_total\{.*outcome="limited"\} 2$/m)
    await gateway.stop()
  })

  it('drop routes and backends that are gone', async () => {
    const gateway = await start('')
    await gateway.get('/')
    assert.match(gateway.metrics(), /route="all"/)
    await gateway.apply(config(gateway.port, '', 'other', 'second'))
    await gateway.get('/')
    const text = gateway.metrics()
    assert.doesNotMatch(text, /route="all"|backend="first"/)
    assert.match(text, /portcullis_requests_total\{[^}]*route="other"/)
    assert.match(text, /backend="second"/)
    await gateway.stop()
  })
})
