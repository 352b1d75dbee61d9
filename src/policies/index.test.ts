import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decide, policies, programOf, TestServices } from '../../test/program/models.ts'
import { POLICIES } from './index.ts'
import { POLICY_SCHEMAS } from './schema.ts'

describe('the list of policies', () => {
  for (const { kind, schema } of POLICIES) {
    it(`${kind} is what its schema says`, () => {
      const known = POLICY_SCHEMAS.find((one) => one.kind === kind)
      assert.equal(known?.schema.def, schema.def)
    })
  }

  it('contains each kind once', () => {
    assert.equal(new Set(POLICIES.map(({ kind }) => kind)).size, POLICIES.length)
  })
})

describe('policies that are data on their route', () => {
  it('timeout', async () => {
    const route = async (timeout?: object) =>
      (
        await decide(
          programOf({ routes: [{ policies: timeout === undefined ? {} : { timeout } }] }),
        )
      ).route
    assert.deepEqual((await route()).timeouts, { request: 0, backendRequest: 0, responseIdle: 0 })
    const both = await route({ request: '10s', backendRequestTimeout: '500ms' })
    const responseIdle = Number.POSITIVE_INFINITY
    assert.deepEqual(both.timeouts, { request: 10_000, backendRequest: 500, responseIdle })
  })

  it('backend request timeout', async () => {
    const own = policies({ http: { requestTimeout: '2s' } }, 'route', 'backend')
    const { backend } = await decide(programOf({ routes: [{ policies: own }] }))
    assert.equal(backend?.requestTimeout, 2000)
  })

  it('retry', async () => {
    const retry = {
      attempts: 3,
      backoff: '100ms',
      codes: [503],
      precondition: "request.method == 'GET'",
      condition: 'response.code == 429',
    }
    const { route, exchange } = await decide(programOf({ routes: [{ policies: { retry } }] }))
    const { precondition, condition, statuses, ...rest } = route.retry ?? assert.fail()
    assert.deepEqual(rest, { attempts: 3, backoff: 100, onConnectionError: true, maxBody: 65_536 })
    assert.deepEqual([...statuses], [503])
    assert.equal(precondition?.(exchange), true)
    assert.equal(condition?.(exchange), false, 'there is no response yet')
    exchange.response = { code: 429 }
    assert.equal(condition?.(exchange), true)
  })

  it('requestMirror', async () => {
    const services = new TestServices()
    const requestMirror = [
      { backend: { backend: 'copy' }, percentage: 0.5 },
      { backend: { host: 'other:8080' } },
      { backend: { host: 'never:8080' }, percentage: 0 },
      { backend: { backend: 'missing' } },
    ]
    const program = programOf(
      {
        routes: [{ policies: { requestMirror }, backends: ['up', { backend: 'copy', weight: 0 }] }],
      },
      services,
    )
    const { route } = await decide(program)
    const mirrors = route.mirrors.map(({ cluster, fraction }) => [cluster.name, fraction])
    assert.deepEqual(mirrors, [
      ['copy', 0.5],
      ['other:8080', 1],
    ])
    assert.deepEqual(services.opened, ['up', 'copy', 'other:8080'])
  })
})
