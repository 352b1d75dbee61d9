import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import type { OtlpSendResult } from '../telemetry/otlp-send.ts'
import { createOtlpGrpcSend } from './otlp-grpc.ts'

interface CollectorResponse {
  /** The HTTP status. */
  readonly status?: number
  readonly grpcStatus?: string
  /** Without the gRPC prefix. */
  readonly body?: Uint8Array
  /** The status comes with the headers, and nothing follows them. */
  readonly trailersOnly?: boolean
}

async function collector(t: TestContext, response: CollectorResponse | 'hang' | 'reset') {
  const received: { headers: IncomingHttpHeaders; body: Buffer }[] = []
  const server = createServer()
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    const chunks: Buffer[] = []
    stream.on('error', () => {})
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      received.push({ headers, body: Buffer.concat(chunks) })
      if (response === 'hang') return
      if (response === 'reset') return stream.close(2)
      const { status = 200, grpcStatus, body, trailersOnly } = response
      const trailers = grpcStatus === undefined ? {} : { 'grpc-status': grpcStatus }
      const head = { ':status': status, 'content-type': 'application/grpc' }
      if (trailersOnly) return stream.respond({ ...head, ...trailers }, { endStream: true })
      stream.respond(head, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers(trailers))
      const prefix = Buffer.alloc(5)
      prefix.writeUInt32BE(body?.length ?? 0, 1)
      stream.end(Buffer.concat([prefix, body ?? new Uint8Array()]))
    })
  })
  const sessions: { destroy: () => void }[] = []
  server.on('session', (session) => sessions.push(session))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const session of sessions) session.destroy()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received, sessions }
}

function sendTo(url: string, timeout = 10_000) {
  const send = createOtlpGrpcSend({ url, timeout, headers: { 'x-token': 'secret' } })
  return (body = 'batch') =>
    new Promise<OtlpSendResult>((resolve) => send(Buffer.from(body), '', resolve))
}

describe('OTLP over gRPC', () => {
  it('is one unary call', async (t) => {
    const { url, received } = await collector(t, { grpcStatus: '0', body: Uint8Array.of(1, 2) })
    const result = await sendTo(url)('batch')
    assert.ok('status' in result)
    assert.equal(result.status, 200)
    assert.deepEqual([...result.body], [1, 2])
    const [call] = received
    assert.equal(
      call?.headers[':path'],
      '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
    )
    assert.equal(call?.headers['content-type'], 'application/grpc+proto')
    assert.equal(call?.headers['te'], 'trailers')
    assert.equal(call?.headers['x-token'], 'secret')
    assert.equal(call?.body.toString('latin1'), '\0\0\0\0\x05batch')
  })

  for (const [name, response, expected] of [
    ['unavailable', { grpcStatus: '14' }, 503],
    ['unavailable, in headers alone', { grpcStatus: '14', trailersOnly: true }, 503],
    ['resource exhausted', { grpcStatus: '8' }, 503],
    ['invalid argument', { grpcStatus: '3' }, 400],
    ['unimplemented', { grpcStatus: '12', trailersOnly: true }, 400],
    ['a proxy in between', { status: 502 }, 502],
    ['no gRPC status', {}, 'the collector sent no gRPC status'],
    ['nothing', 'hang', 'no response within 200 ms'],
    ['a reset', 'reset', /reset|NGHTTP2/i],
  ] as const) {
    it(`${name}: ${expected}`, async (t) => {
      const { url } = await collector(t, response)
      const result = await sendTo(url, response === 'hang' ? 200 : undefined)()
      if (typeof expected === 'number') {
        assert.equal('status' in result && result.status, expected)
      } else if (typeof expected === 'string') {
        assert.equal('error' in result && result.error, expected)
      } else assert.match('error' in result ? result.error : '', expected)
    })
  }

  it('opens a new connection after one is closed', async (t) => {
    const { url, sessions } = await collector(t, { grpcStatus: '0' })
    const send = sendTo(url)
    await send()
    await send()
    assert.equal(sessions.length, 1)
    sessions[0]?.destroy()
    await new Promise((resolve) => setTimeout(resolve, 20))
    const result = await send()
    assert.equal('status' in result && result.status, 200)
    assert.equal(sessions.length, 2)
  })

  it('reports that the connection is refused', async () => {
    const result = await sendTo('http://127.0.0.1:1')()
    assert.match('error' in result ? result.error : '', /ECONNREFUSED/)
  })
})
