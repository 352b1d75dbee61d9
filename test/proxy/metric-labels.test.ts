import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { loadText } from '../../src/sources/file/load.ts'
import { ALL_METRICS } from '../../src/telemetry/catalogue.ts'
import { free } from './accepting.ts'
import { exchange, type RawUpstream, startUpstream } from './harness.ts'
import { startWhole, until, type WholeGateway } from './whole-gateway.ts'

const FIXED = 'listener="default/default",route="all",method="GET",status="2xx",reason="upstream"'

describe('labels that the configuration adds to metrics', () => {
  let upstream: RawUpstream
  let gateway: WholeGateway
  let port: number

  before(async () => {
    upstream = await startUpstream((_, socket) => {
      socket.write('HTTP/1.1 200 OK\r\nx-cache: hit\r\ncontent-length: 5\r\n\r\nhello')
    })
    port = await free()
    gateway = await startWhole(`config:
  sensitiveHeaders: [x-own]
  metrics:
    remove: [portcullis_response_bytes_total]
    fields:
      add:
        tenant: request.headers['x-tenant']
        cache: response.headers['x-cache']
        secret: request.headers['x-own'] + '!'
frontendPolicies:
  accessLog:
    add:
      own: request.headers['X-Own'] + '!'
      all: string(size(request.headers))
      tenant: request.headers['x-tenant']
gateways: { default: { port: ${port} } }
routes: [{ name: all, backends: [{ host: 127.0.0.1:${upstream.port} }] }]
`)
  })

  after(async () => {
    await gateway.stop()
    upstream.close()
  })

  const ask = (...lines: readonly string[]) =>
    exchange(port, ['GET / HTTP/1.1', 'host: x', ...lines, '', ''].join('\r\n'), 'hello')

  it('have the values of each request, including those of its response', async () => {
    await ask('x-tenant: blue')
    await ask('x-tenant: blue')
    await ask()
    const series = (tenant: string) =>
      `portcullis_requests_total{${FIXED},tenant="${tenant}",cache="hit",secret="unknown"}`
    await until('the counts', () => gateway.metric(series('blue')) === 2)
    await until('the counts', () => gateway.metric(series('unknown')) === 1)
    assert.match(gateway.metrics(), /request_duration_seconds_count\{[^}]*tenant="blue"[^}]*\} 2\n/)
  })

  it('never have the value of a sensitive header, and neither has the log', async () => {
    await ask('x-tenant: green', 'x-own: s3cret')
    await until('the record', () => gateway.lines.some(({ tenant }) => tenant === 'green'))
    assert.match(gateway.metrics(), /tenant="green",cache="hit",secret="\(secret\)"/)
    const line = gateway.lines.find(({ tenant }) => tenant === 'green')
    assert.deepEqual([line?.own, line?.all], ['(secret)', '(secret)'])
  })

  it('are bounded: above the max number of series of a metric, values become other', async () => {
    for (let at = 0; at < 2_100; at += 100) {
      const asked = Array.from({ length: 100 }, (_, i) => `x-tenant: t${at + i}`)
      await Promise.all(asked.map((line) => ask(line)))
    }
    await until('the last one', () => gateway.metrics().includes('tenant="other"'))
    const counted = gateway.metrics().match(/^portcullis_requests_total\{/gm)?.length ?? 0
    assert.ok(counted <= 2_100, `${counted} series`)
  })

  it('do not bring back excluded metrics', () => {
    assert.doesNotMatch(gateway.metrics(), /portcullis_response_bytes_total/)
  })

  const taken = ALL_METRICS.filter(
    ({ takesCustomLabels, isPlanned }) => takesCustomLabels === true && isPlanned !== true,
  ).flatMap(({ labels }) => labels.map(({ name }) => name))
  for (const name of new Set([...taken, 'le', '__name', '1st', 'a-b'])) {
    it(`cannot be called ${name}`, () => {
      const text = `config: { metrics: { fields: { add: { ${name}: request.path } } } }`
      const { diagnostics } = loadText(text, 'gateway.yaml', { environment: {} }).result
      assert.deepEqual(
        diagnostics.map(({ code }) => code),
        ['PC0215'],
      )
    })
  }
})
