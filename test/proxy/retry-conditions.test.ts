import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { free } from './accepting.ts'
import { exchange, startUpstream } from './harness.ts'
import { clientOf } from './http2-peers.ts'
import { startWhole, until } from './whole-gateway.ts'

const opened: (() => unknown)[] = []
after(() => Promise.all(opened.map((close) => close())))

const response = (status: number, ...lines: readonly string[]) =>
  `HTTP/1.1 ${status} X\r\n${lines.map((line) => `${line}\r\n`).join('')}content-length: 4\r\n\r\ndone`
const OK = response(200)
const BUSY = response(503)
const LIMITED = response(429)
const LATER = response(200, 'X-Later: yes')

const GET = 'GET /a HTTP/1.1\r\nhost: x\r\n\r\n'
const POST = 'POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nbody'

/**
 * A gateway whose only route retries as `retry` configures; the backend sends `responses` in turn.
 */
async function start(retry: string, responses: readonly string[]) {
  let at = 0
  const upstream = await startUpstream((_, socket) => {
    const own = responses[Math.min(at++, responses.length - 1)] as string
    if (own === 'reset') socket.resetAndDestroy()
    else if (own !== 'silence') socket.write(own)
  })
  const port = await free()
  const gateway = await startWhole(`
frontendPolicies: { accessLog: { add: { code: response.code } } }
gateways: { default: { port: ${port} } }
routes:
- policies:
    timeout: { backendRequest: ${responses.includes('silence') ? '250ms' : '10s'} }
    retry: ${retry}
  backends: [{ host: 127.0.0.1:${upstream.port} }]
`)
  opened.push(gateway.stop, upstream.close)
  return { port, gateway, asked: () => at }
}

const IDEMPOTENT = `precondition: "request.method == 'GET'"`

describe('retry', () => {
  for (const [what, retry, responses, request, status, asked] of [
    ['precondition true', IDEMPOTENT, [BUSY, OK], GET, 200, 2],
    ['precondition false', IDEMPOTENT, [BUSY, OK], POST, 503, 1],
    ['precondition false, a broken connection', IDEMPOTENT, ['reset', OK], POST, 502, 1],
    ['precondition true, a broken connection', IDEMPOTENT, ['reset', OK], GET, 200, 2],
    [
      'precondition with an error',
      `precondition: "request.headers['x'] == 'y'"`,
      [BUSY, OK],
      GET,
      503,
      1,
    ],
    ['an attempt that takes too long', 'codes: [504]', ['silence', OK], GET, 200, 2],
    ['the same, a body', 'attempts: 2', ['silence', 'silence', OK], POST, 200, 3],
    ['the same, 504 not among the codes', 'codes: [503]', ['silence', OK], GET, 504, 1],
    ['condition true', 'condition: response.code == 429', [LIMITED, OK], GET, 200, 2],
    ['condition true, a body', 'condition: response.code == 429', [LIMITED, OK], POST, 200, 2],
    ['condition false', 'condition: response.code == 429', [response(500), OK], GET, 500, 1],
    [
      'condition false, a status of codes',
      'condition: response.code == 429',
      [BUSY, OK],
      GET,
      200,
      2,
    ],
    [
      'condition on a header',
      `condition: "'x-later' in response.headers"`,
      [LATER, OK],
      GET,
      200,
      2,
    ],
    [
      'condition with an error',
      `condition: "response.headers['x'] == 'y'"`,
      [LATER, OK],
      GET,
      200,
      1,
    ],
    ['condition true for ever', 'condition: "true", attempts: 2', [OK], GET, 200, 3],
    ['condition true, precondition false', `condition: "true", ${IDEMPOTENT}`, [OK], POST, 200, 1],
    ['condition on the request', `condition: "request.method == 'GET'"`, [OK], POST, 200, 1],
  ] as const) {
    it(`${what}: asked ${asked === 1 ? 'once' : `${asked} times`}`, async () => {
      const own = await start(`{ backoff: 1ms, ${retry} }`, responses)
      const text = await exchange(own.port, request, /\r\n\r\n(?:done|Bad|Gateway)/)
      assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `))
      assert.equal(own.asked(), asked)
      // The response of an abandoned attempt does not reach the client.
      assert.equal(text.match(/HTTP\/1\.1/g)?.length, 1)
    })
  }

  it('the reason is counted, and the log contains the last response', async () => {
    const own = await start('{ backoff: 1ms, condition: response.code == 429 }', [LIMITED, OK])
    await exchange(own.port, GET, 'done')
    await until('the record', () => own.gateway.lines.some(({ code }) => code === 200))
    const series = /portcullis_upstream_retries_total\{[^}]*reason="condition"\} 1/
    assert.match(own.gateway.metrics(), series)
  })

  it('a condition reads the gRPC status', async () => {
    const responses = [response(200, 'grpc-status: 14'), response(200, 'grpc-status: 0')]
    const own = await start('{ backoff: 1ms, condition: response.grpcStatus == 14 }', responses)
    const client = clientOf('h2', own.port)
    const { headers } = await client.ask({})
    client.close()
    assert.deepEqual([own.asked(), headers['grpc-status']], [2, '0'])
  })
})
