import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { DecisionRecord } from '../../src/telemetry/decision-record.ts'
import { type Deciding, freePort, startBackend, startDeciding } from './gateway.ts'

describe('decisions of an external authorization service over HTTP', () => {
  let backend: Server & { readonly port: number }
  let service: Server
  let status = 200
  let port: number
  let own: Deciding

  before(async () => {
    backend = await startBackend()
    service = createServer((_, response) => response.writeHead(status).end('its own words'))
    await new Promise<void>((done) => service.listen(0, '127.0.0.1', done))
    const { port: asked } = service.address() as AddressInfo
    port = await freePort()
    const gone = await freePort()
    const route = (path: string, at: number, more = '') => `
- name: ${path}
  gateways: [default]
  matches: [{ path: { pathPrefix: /${path} } }]
  policies:
    extAuthz: { host: '127.0.0.1:${at}', protocol: { http: {} }${more} }
  backends: [{ host: '127.0.0.1:${backend.port}' }]`
    own = await startDeciding(`
gateways:
  default: { port: ${port} }
routes:${route('asked', asked)}${route('gone', gone)}${route('plain', gone, ', failureMode: { denyWithStatus: 503 }')}${route('open', gone, ', failureMode: Allow')}${route('whole', asked, ', includeRequestBody: { maxRequestBytes: 4 }')}
`)
  })

  after(async () => {
    await own.stop()
    for (const server of [backend, service]) {
      server.close()
      server.closeAllConnections()
    }
  })

  async function ask(path: string, body?: string) {
    const init = body === undefined ? {} : { method: 'POST', body }
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init)
    await response.text()
    const id = response.headers.get('x-request-id') ?? ''
    return { status: response.status, records: own.decisions({ id }) }
  }

  const reported = ({ kind, verdict, enforced, stage, credentials }: DecisionRecord) => [
    kind,
    verdict,
    enforced,
    stage,
    credentials?.method,
    credentials?.kind,
  ]

  for (const [what, path, returned, expected, reason, detail, body] of [
    ['a refusal', '/asked', 403, 403, 'denied', 'status 403', undefined],
    ['a refusal of its own', '/asked', 418, 418, 'denied', 'status 418', undefined],
    ['a failure of it', '/asked', 500, 403, 'unavailable', 'status 500', undefined],
    ['a service that is down', '/gone', 0, 403, 'unavailable', 'connect-refused', undefined],
    ['one that says so plainly', '/plain', 0, 503, 'unavailable', 'connect-refused', undefined],
    [
      'a long body',
      '/whole',
      200,
      413,
      'too-large',
      'the body is too large to send to the service',
      'a long one',
    ],
  ] as const) {
    it(`${what}: ${expected}, recorded as ${reason}: ${detail}`, async () => {
      status = returned
      const response = await ask(path, body)
      assert.equal(response.status, expected)
      const [record, ...more] = response.records
      assert.deepEqual(more, [])
      assert.deepEqual(reported(record ?? assert.fail()), [
        'authentication',
        'denied',
        true,
        'traffic',
        'external',
        'extAuthz',
      ])
      assert.deepEqual(
        [record?.reason, record?.detail, record?.status, record?.credentials?.policy],
        [reason, detail, expected, `route:${path.slice(1)}`],
      )
      assert.doesNotMatch(JSON.stringify(record), /its own words|a long one/)
    })
  }

  for (const [what, path] of [
    ['that the service admits', '/asked'],
    ['that may pass without the service', '/open'],
  ] as const) {
    it(`there is none of a request ${what}`, async () => {
      status = 200
      assert.deepEqual(await ask(path), { status: 200, records: [] })
    })
  }
})
