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

describe('policies that could not be read', () => {
  it('deny where they hold', () => {
    assert.deepEqual(deniedAt({ gateway: { timeout: null } }), ['traffic', 'traffic of a route'])
  })

  it('deny nothing where a more specific one holds', () => {
    const routes = [{ policies: { timeout: { request: '5s' } } }]
    assert.deepEqual(deniedAt({ gateway: { timeout: null }, routes }), ['traffic'])
  })

  it('about MCP, at a gateway, deny nothing to what does not speak it', () => {
    const gateway = policies({ mcpAuthorization: null }, 'gateway')
    assert.deepEqual(deniedAt({ gateway }), [])
  })

  it('about how connections are taken close them', () => {
    assert.deepEqual(deniedAt({ gateway: { proxyProtocol: null } }), ['connection'])
  })

  it('about what is logged close nothing', () => {
    assert.deepEqual(deniedAt({ gateway: { accessLog: null } }), [])
  })
})
