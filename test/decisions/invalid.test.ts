import assert from 'node:assert/strict'
import type { Server } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { DECISION_ENDPOINTS } from '../../src/admin/api/decisions.ts'
import type { ApiDeps } from '../../src/admin/api/deps.ts'
import { routeApi } from '../../src/admin/api/router.ts'
import { authenticateBy } from '../../src/admin/callers.ts'
import { isListening, serve } from '../../src/admin/servers.ts'
import { runWith } from '../../src/cli/fixtures/run.ts'
import { type Deciding, freePort, startBackend, startDeciding } from './gateway.ts'

describe('requests that an invalid policy denies', () => {
  let backend: Server & { readonly port: number }
  let port: number
  let own: Deciding

  before(async () => {
    backend = await startBackend()
    port = await freePort()
    const to = `{ host: '127.0.0.1:${backend.port}'`
    own = await startDeciding(`
gateways:
  default: { port: ${port} }
routes:
- name: misspelt
  gateways: [default]
  matches: [{ path: { pathPrefix: /misspelt } }]
  policies:
    authorization: { rules: [{ allow: jtw.sub == 'alice' }] }
  backends: [${to} }]
- name: shapeless
  gateways: [default]
  matches: [{ path: { pathPrefix: /shapeless } }]
  policies:
    cors: { allowOrigins: 7 }
  backends: [${to} }]
- name: behind
  gateways: [default]
  matches: [{ path: { pathPrefix: /behind } }]
  backends:
  - ${to}, policies: { authorization: { rules: [{ deny: 1 + 1 }] } } }
- name: whole
  gateways: [default]
  matches: [{ path: { pathPrefix: /whole } }]
  backends: [${to} }]
`)
  })

  after(async () => {
    await own.stop()
    backend.close()
    backend.closeAllConnections()
  })

  for (const [path, stage, policy, kind, line] of [
    ['/misspelt', 'traffic', 'route:misspelt', 'authorization', 9],
    ['/shapeless', 'traffic', 'route:shapeless', 'cors', 15],
    ['/behind', 'backend', 'routeBackend:behind/0', 'authorization', 21],
  ] as const) {
    it(`${path}: are told with the policy, its place and what is wrong with it`, async () => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`)
      const body = await response.text()
      assert.equal(response.status, 500)
      const id = response.headers.get('x-request-id') ?? ''
      const [record, ...more] = own.decisions({ id })
      assert.deepEqual(more, [])
      assert.deepEqual(
        [record?.kind, record?.cause, record?.verdict, record?.stage, record?.status],
        ['authorization', 'invalid-policy', 'denied', stage, 500],
      )
      assert.deepEqual([record?.invalid?.policy, record?.invalid?.kind], [policy, kind])
      assert.match(record?.invalid?.origin ?? '', new RegExp(`^gateway\\.yaml:${line}:\\d+$`))
      assert.match(record?.reason ?? '', /^PC\d{4}: ./)
      assert.deepEqual(own.decisions({ policy }), [record])
      assert.doesNotMatch(body, /PC\d|route:|gateway\.yaml/)
      const series = `portcullis_authorization_decisions_total{policy="${policy}",rule="none",verdict="denied",action="none",cause="invalid-policy"}`
      assert.equal(own.metric(series), 1)
      const logged = own.lines.find((one) => one.includes(id)) ?? ''
      assert.match(logged, new RegExp(`reason=invalid-policy detail="${policy} ${kind}"`))
    })
  }

  it('are reported by `portcullis why`', async () => {
    const response = await fetch(`http://127.0.0.1:${port}/misspelt`)
    await response.text()
    const id = response.headers.get('x-request-id') ?? ''
    const admin = { kind: 'tcp', host: '127.0.0.1', port: await freePort() } as const
    const deps = {
      find: async (query) => ({ records: own.decisions(query) }),
    } as Partial<ApiDeps> as ApiDeps
    const api = routeApi(DECISION_ENDPOINTS, deps, authenticateBy(undefined))
    const origin = { kind: 'object', object: 'admin', field: '' } as const
    const server = await serve(admin, new Map(), origin, undefined, true, api)
    assert.ok(isListening(server))
    const { code, out, err } = await runWith([
      'why',
      id,
      '--admin',
      `http://127.0.0.1:${admin.port}`,
    ])
    server.close()
    server.closeAllConnections()
    assert.equal(err, '')
    assert.equal(code, 0)
    assert.match(out, /^denied {2}GET 127\.0\.0\.1\/misspelt {2}500\n/)
    assert.match(
      out,
      /authorization of route:misspelt is invalid and denies all requests that it guards/,
    )
    assert.match(out, /gateway\.yaml:9:\d+ \(traffic, route\)\n.*PC0103: unknown variable `jtw`/)
  })

  it('leave other requests unaffected', async () => {
    const response = await fetch(`http://127.0.0.1:${port}/whole`)
    await response.text()
    assert.equal(response.status, 200)
    assert.deepEqual(own.decisions({ id: response.headers.get('x-request-id') ?? '' }), [])
  })
})
