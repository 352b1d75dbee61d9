import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Gateway } from '../proxy/gateway.ts'
import { loadFile } from '../sources/file/load.ts'
import { createLogger } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { runWith } from './fixtures/run.ts'

const folder = mkdtempSync(join(tmpdir(), 'explain-body-'))
const file = join(folder, 'gateway.yaml')

/** The behavior of a gateway for a request, and what `explain` reports about it. */
interface Case {
  readonly what: string
  readonly path: string
  readonly body: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
  readonly outcome: string
  readonly status: number
}

const MODEL = (model: string) =>
  JSON.stringify({ model, messages: [{ role: 'user', content: 'x' }] })
const GZIP = { 'content-encoding': 'gzip' }

const CASES: readonly Case[] = [
  {
    what: 'a body that a rule denies',
    path: '/text',
    body: 'a drop b',
    outcome: 'denied',
    status: 403,
  },
  { what: 'another one', path: '/text', body: 'a b', outcome: 'forwarded', status: 200 },
  { what: 'one that is empty', path: '/text', body: '', outcome: 'forwarded', status: 200 },
  {
    what: 'one that hides behind a coding',
    path: '/text',
    body: gzipSync('a drop b'),
    headers: GZIP,
    outcome: 'denied',
    status: 403,
  },
  {
    what: 'a coding that is not true',
    path: '/text',
    body: 'a b',
    headers: GZIP,
    outcome: 'rejected',
    status: 400,
  },
  {
    what: 'a coding that nobody knows',
    path: '/text',
    body: 'a b',
    headers: { 'content-encoding': 'rot13' },
    outcome: 'rejected',
    status: 415,
  },
  {
    what: 'one that is too long',
    path: '/text',
    body: 'x'.repeat(5000),
    outcome: 'rejected',
    status: 413,
  },
  {
    what: 'one that nobody reads',
    path: '/open',
    body: 'x'.repeat(5000),
    outcome: 'forwarded',
    status: 200,
  },
  { what: 'a field', path: '/json', body: '{"kind":"order"}', outcome: 'forwarded', status: 200 },
  {
    what: 'another field',
    path: '/json',
    body: '{"kind":"refund"}',
    outcome: 'denied',
    status: 403,
  },
  { what: 'no JSON', path: '/json', body: 'kind: order', outcome: 'denied', status: 403 },
  {
    what: 'a model that is allowed',
    path: '/v1/chat/completions',
    body: MODEL('small'),
    outcome: 'forwarded',
    status: 200,
  },
  {
    what: 'a model that is not',
    path: '/v1/chat/completions',
    body: MODEL('large'),
    outcome: 'denied',
    status: 403,
  },
  {
    what: 'a call without JSON',
    path: '/v1/chat/completions',
    body: 'small',
    outcome: 'rejected',
    status: 400,
  },
]

const RESPONSE = JSON.stringify({
  id: 'x',
  object: 'chat.completion',
  created: 1,
  model: 'small',
  choices: [{ index: 0, message: { role: 'assistant', content: 'y' }, finish_reason: 'stop' }],
})

describe('explain with a body matches the gateway', () => {
  const backend = createServer((incoming, outgoing) => {
    incoming.resume()
    incoming.on('end', () => outgoing.setHeader('content-type', 'application/json').end(RESPONSE))
  })
  let port = 0
  let gateway: Gateway

  before(async () => {
    await once(backend.listen(0, '127.0.0.1'), 'listening')
    const to = `127.0.0.1:${(backend.address() as AddressInfo).port}`
    port = await freePort()
    const rules = (list: string) => `policies: { authorization: { rules: [${list}] } }`
    writeFileSync(
      file,
      `config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off' }
frontendPolicies: { http: { maxBufferSize: 4096 } }
gateways: { default: { port: ${port} } }
routes:
- name: text
  matches: [{ path: { exact: /text } }]
  ${rules(`{ deny: "string(request.body).contains('drop')" }`)}
  backends: [{ host: '${to}' }]
- name: json
  matches: [{ path: { exact: /json } }]
  ${rules(`{ allow: "json(request.body).kind == 'order'" }`)}
  backends: [{ host: '${to}' }]
- name: open
  matches: [{ path: { exact: /open } }]
  backends: [{ host: '${to}' }]
- name: chat
  backends: [{ backend: models }]
backends:
- name: models
  ai: { name: own, provider: { openAI: {} }, hostOverride: '${to}' }
  ${rules(`{ allow: "llm.requestModel == 'small'" }`)}
`,
    )
    const { result, settings } = loadFile(file, { environment: {} })
    assert.ok(
      result.value !== undefined && settings !== undefined,
      JSON.stringify(result.diagnostics),
    )
    const log = createLogger({ format: 'text', level: 'error', write: () => {} })
    gateway = new Gateway({ settings, log, metrics: createMetrics(), reusePort: false })
    assert.equal((await gateway.apply(result.value)).isApplied, true)
  })
  after(async () => {
    await gateway.drain()
    backend.close()
    rmSync(folder, { recursive: true })
  })

  for (const { what, path, body, headers = {}, outcome, status } of CASES) {
    it(`${path}, ${what}: ${outcome}`, async () => {
      const written = join(folder, 'body')
      writeFileSync(written, body)
      const named = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
      const args = ['explain', '-f', file, '-r', `POST ${path}`, ...named, '--json']
      const { out, code } = await runWith([...args, '--body-file', written])
      const said = JSON.parse(out)
      assert.equal(said.outcome, outcome, out)
      assert.equal(code, status === 200 ? 0 : 1)
      if (status !== 200) assert.equal(said.status, status)
      if (typeof body === 'string') {
        assert.equal((await runWith([...args, '--body', body])).out, out)
      }
      assert.equal(await statusOf(port, path, headers, body), status)
    })
  }

  it('accepts one body, and no content-length header', async () => {
    const args = ['explain', '-f', file, '-r', 'POST /text', '--body', 'x']
    assert.equal((await runWith([...args, '--body-file', file])).code, 2)
    assert.equal((await runWith([...args, '-H', 'content-length: 1'])).code, 2)
    assert.equal(
      (await runWith([...args.slice(0, 5), '--body-file', join(folder, 'none')])).code,
      1,
    )
  })
})

async function freePort(): Promise<number> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  await once(server.close(), 'close')
  return port
}

function statusOf(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string | Buffer,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const length = Buffer.byteLength(body)
    const all = { ...headers, 'content-length': length, connection: 'close' }
    const sent = send(
      { port, host: '127.0.0.1', path, method: 'POST', headers: all },
      (incoming) => {
        incoming.resume()
        resolve(incoming.statusCode ?? 0)
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}
