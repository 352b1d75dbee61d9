import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { modelOf, policies } from '../../test/program/models.ts'
import { pointsOf } from './points.ts'

/** Stages at which all requests are reported as denied because a policy could not be read. */
function deniedAt(written: Parameters<typeof modelOf>[0]): readonly string[] {
  const denied = [...pointsOf(modelOf(written))].filter(({ invalid }) => invalid.length > 0)
  return denied.map(
    ({ stage, where }) => `${stage}${where.route === undefined ? '' : ' of a route'}`,
  )
}

describe('invalid policies', () => {
  it('deny requests where they apply', () => {
    assert.deepEqual(deniedAt({ gateway: { timeout: null } }), ['traffic', 'traffic of a route'])
  })

  it('deny nothing where a more specific policy applies', () => {
    const routes = [{ policies: { timeout: { request: '5s' } } }]
    assert.deepEqual(deniedAt({ gateway: { timeout: null }, routes }), ['traffic'])
  })

  it('for MCP, on a gateway, deny nothing to backends that do not speak MCP', () => {
    const gateway = policies({ mcpAuthorization: null }, 'gateway')
    assert.deepEqual(deniedAt({ gateway }), [])
  })

  it('for accepting connections close them', () => {
    assert.deepEqual(deniedAt({ gateway: { proxyProtocol: null } }), ['connection'])
  })

  it('for logging close nothing', () => {
    assert.deepEqual(deniedAt({ gateway: { accessLog: null } }), [])
  })
})
