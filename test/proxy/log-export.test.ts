import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, it } from 'node:test'
import { type Deciding, freePort, startBackend, startDeciding } from '../decisions/gateway.ts'
import { decodeByPeer } from './protobuf-peer.ts'

/* The access log over OTLP. */

interface Value {
  readonly stringValue?: string
  readonly intValue?: string
  readonly doubleValue?: number
}

interface Seen {
  readonly traceId?: Buffer
  readonly spanId?: Buffer
  readonly severityText: string
  readonly body: Value
  readonly attributes: readonly { readonly key: string; readonly value: Value }[]
}

interface Decoded {
  readonly resourceLogs: readonly { readonly scopeLogs: readonly { logRecords: Seen[] }[] }[]
}

const REQUEST = 'opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest'

function recordsIn(bodies: readonly Buffer[]) {
  return bodies
    .flatMap((body) => decodeByPeer<Decoded>(REQUEST, body).resourceLogs)
    .flatMap(({ scopeLogs }) => scopeLogs)
    .flatMap(({ logRecords }) => logRecords)
    .map(({ attributes, ...record }) => ({
      ...record,
      fields: Object.fromEntries(
        attributes.map(({ key, value }) => [
          key,
          value.stringValue ?? value.doubleValue ?? Number(value.intValue),
        ]),
      ),
    }))
}

let collector: Server
let backend: Awaited<ReturnType<typeof startBackend>>
let status = 200
const bodies: Buffer[] = []
const asked: string[] = []

const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port

async function start(accessLog: object, more: object = {}): Promise<Deciding & { port: number }> {
  const port = await freePort()
  const text = JSON.stringify({
    gateways: { default: { port } },
    frontendPolicies: { accessLog, ...more },
    routes: [
      {
        name: 'all',
        policies: { authorization: { rules: [{ deny: `request.path == '/secret'` }] } },
        backends: [{ host: `127.0.0.1:${backend.port}` }],
      },
    ],
  })
  const running = await startDeciding(text, 'json')
  return { ...running, port }
}

const get = async ({ port }: { readonly port: number }, path: string, headers = {}) => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
  await response.text()
  return response.status
}

describe('the access log over OTLP', () => {
  before(async () => {
    backend = await startBackend()
    collector = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk) => chunks.push(chunk))
      request.on('end', () => {
        const { url, headers } = request
        asked.push(`${url} ${headers['content-type']} ${headers['x-token']}`)
        if (status === 200) bodies.push(Buffer.concat(chunks))
        response.writeHead(status).end()
      })
    })
    await new Promise<void>((done) => collector.listen(0, '127.0.0.1', done))
  })

  after(() => {
    for (const server of [collector, backend]) {
      server.close()
      server.closeAllConnections()
    }
  })

  beforeEach(() => {
    bodies.length = 0
    asked.length = 0
    status = 200
  })

  const otlp = (more: object = {}) => ({
    host: `127.0.0.1:${portOf(collector)}`,
    protocol: 'http',
    headers: { 'x-token': 'secret' },
    ...more,
  })

  it('contains each record with its fields and its trace, in addition to the process log', async () => {
    const tracing = { host: '127.0.0.1:1', clientSampling: 0 }
    const add = { who: `request.headers['x-user']` }
    const gateway = await start({ add, remove: ['http.host'], otlp: otlp() }, { tracing })
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    await get(gateway, '/a', { 'x-user': 'alice', traceparent })
    await get(gateway, '/secret')
    await gateway.stop()
    assert.deepEqual(asked, ['/v1/logs application/x-protobuf secret'])
    const [first, second, ...others] = recordsIn(bodies)
    assert.deepEqual(others, [])
    assert.equal(first?.severityText, 'INFO')
    assert.deepEqual(first?.body, { stringValue: 'request' })
    assert.equal(first?.traceId?.toString('hex'), '4bf92f3577b34da6a3ce929d0e0e4736')
    assert.equal(first?.fields['http.path'], '/a')
    assert.equal(first?.fields['http.status'], 200)
    assert.equal(first?.fields.who, 'alice')
    assert.equal(first?.fields['http.host'], undefined)
    assert.equal(typeof first?.fields.duration, 'number')
    assert.equal(second?.fields['http.status'], 403)
    assert.equal(second?.fields.reason, 'authorization')
    const lines = gateway.lines.map((line) => JSON.parse(line)['http.path'])
    assert.deepEqual(lines.filter(Boolean), ['/a', '/secret'])
    assert.equal(gateway.metric('portcullis_log_records_exported_total'), 2)
  })

  it('has its own filter and fields, by default those of the log', async () => {
    const log = { filter: `request.path != '/b'`, add: { a: '1' } }
    const own = { filter: 'response.code == 200', fields: { add: { b: '2' }, remove: ['reason'] } }
    for (const [more, expected] of [
      [
        {},
        [
          ['/a', 1, undefined, 'upstream'],
          ['/secret', 1, undefined, 'authorization'],
        ],
      ],
      [
        own,
        [
          ['/a', undefined, 2, undefined],
          ['/b', undefined, 2, undefined],
        ],
      ],
    ] as const) {
      bodies.length = 0
      const gateway = await start({ ...log, otlp: otlp(more) })
      for (const path of ['/a', '/b', '/secret']) await get(gateway, path)
      await gateway.stop()
      assert.deepEqual(
        recordsIn(bodies).map(({ fields }) => [
          fields['http.path'],
          fields.a,
          fields.b,
          fields.reason,
        ]),
        expected,
      )
      const lines = gateway.lines.map((line) => JSON.parse(line)['http.path']).filter(Boolean)
      assert.deepEqual(lines, ['/a', '/secret'])
    }
  })

  it('is off with the log, and uses its sampling', async () => {
    for (const log of [{ enabled: false }, { sample: 0 }]) {
      const gateway = await start({ ...log, otlp: otlp() })
      await get(gateway, '/a')
      await gateway.stop()
      assert.deepEqual(bodies, [])
    }
  })

  it('is sent over gRPC', async () => {
    const calls: string[] = []
    const received: Buffer[] = []
    const server = createHttp2Server()
    server.on('stream', (stream: ServerHttp2Stream, headers) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        calls.push(`${headers[':path']} ${headers['content-type']}`)
        received.push(Buffer.concat(chunks).subarray(5))
        stream.respond({ ':status': 200 }, { waitForTrailers: true })
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
        stream.end(Buffer.alloc(5))
      })
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const gateway = await start({ otlp: { host: `127.0.0.1:${portOf(server)}` } })
    await get(gateway, '/a')
    await gateway.stop()
    server.close()
    const path = '/opentelemetry.proto.collector.logs.v1.LogsService/Export'
    assert.deepEqual(calls, [`${path} application/grpc+proto`])
    assert.equal(recordsIn(received)[0]?.fields['http.path'], '/a')
  })

  it('drops records without failing any request, and reports it', async () => {
    status = 400
    const gateway = await start({ otlp: otlp() })
    assert.equal(await get(gateway, '/a'), 200)
    await gateway.stop()
    const lost = 'portcullis_log_records_unexported_total{reason="refused"}'
    assert.equal(gateway.metric(lost), 1)
    const warned = gateway.lines
      .map((line) => JSON.parse(line))
      .find(({ level }) => level === 'warn')
    assert.equal(warned?.error, 'records were lost')
  })
})
