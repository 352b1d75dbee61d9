import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { free } from './accepting.ts'
import { startEcho } from './harness.ts'
import { clientOf } from './http2-peers.ts'
import { startWhole } from './whole-gateway.ts'

const opened: (() => unknown)[] = []
after(() => Promise.all(opened.map((close) => close())))

const response = (body: string, status: number, ...lines: readonly string[]) =>
  `HTTP/1.1 ${status} X\r\n${lines.map((line) => `${line}\r\n`).join('')}content-length: ${body.length}\r\n\r\n${body}`

/** Sends ten requests, alternating between a suspect and a healthy endpoint. */
async function bodies(suspect: string, expression: string, retry = ''): Promise<string[]> {
  const endpoints = await Promise.all([startEcho(suspect), startEcho(response('well', 200))])
  const port = await free()
  const gateway = await startWhole(`
gateways: { default: { port: ${port} } }
backends:
- name: pair
  hosts: [${endpoints.map((own) => `"127.0.0.1:${own.port}"`).join()}]
  policies:
    loadBalancer: { algorithm: RoundRobin }
    outlierDetection: { ${expression}eviction: { consecutiveFailures: 1, duration: 1m } }
routes: [{ backends: [{ backend: pair }]${retry} }]
`)
  const client = clientOf('h2', port)
  opened.push(client.close, gateway.stop, ...endpoints.map(({ close }) => close))
  const found: string[] = []
  for (let turn = 0; turn < 10; turn++) found.push(String((await client.ask({})).body))
  return found
}

describe('the expression for failures of an endpoint', () => {
  const SICK = `unhealthyExpression: "'x-sick' in response.headers", `
  const NEVER = 'unhealthyExpression: response.code == 418, '
  const ERROR = `unhealthyExpression: "response.headers['x'] == 'y'", `
  const AGAIN = ', policies: { retry: { backoff: 1ms, condition: "true" } }'
  for (const [what, suspect, expression, retry, max] of [
    ['a response that the expression calls one', response('sick', 200, 'X-Sick: 1'), SICK, '', 1],
    ['one that is tried again, too', response('sick', 200, 'X-Sick: 1'), SICK, AGAIN, 1],
    ['not one that it does not', response('sick', 200), SICK, '', 5],
    ['not a status that it does not name', response('sick', 500), NEVER, '', 5],
    ['nothing where it has an error', response('sick', 500), ERROR, '', 5],
    ['without one, a status of the server', response('sick', 500), '', '', 1],
    ['without one, a fault of gRPC', response('sick', 200, 'grpc-status: 14'), '', '', 1],
    ['but not a mistake of its client', response('sick', 200, 'grpc-status: 5'), '', '', 5],
  ] as const) {
    it(what, async () => {
      const found = await bodies(suspect, expression, retry)
      const sick = found.filter((body) => body === 'sick').length
      assert.ok(max === 1 ? sick <= 1 : sick === max, found.join())
    })
  }
})
