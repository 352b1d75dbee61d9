import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ConformanceReport, provenFeatures } from './supported-features.ts'

type Profile = ConformanceReport['profiles'][number]

const report = (...profiles: readonly Profile[]): ConformanceReport => ({
  gatewayAPIVersion: 'v1.6.3',
  profiles,
})
const profile = (
  name: string,
  core: Profile['core']['result'],
  result: Profile['core']['result'],
  ...supportedFeatures: readonly string[]
): Profile => ({ name, core: { result: core }, extended: { result, supportedFeatures } })

describe('supported features', () => {
  it('are those of all profiles whose tests passed, once, in alphabetical order', () => {
    const made = provenFeatures([
      report(
        profile('GATEWAY-TLS', 'success', 'success', 'TLSRouteModeTerminate', 'ListenerSet'),
        profile('GATEWAY-HTTP', 'success', 'success', 'HTTPRouteRetry', 'ListenerSet'),
      ),
    ])
    assert.deepEqual(made, [
      'Gateway',
      'HTTPRoute',
      'HTTPRouteRetry',
      'ListenerSet',
      'ReferenceGrant',
      'TLSRoute',
      'TLSRouteModeTerminate',
    ])
  })

  it('exclude levels that failed or whose tests were skipped', () => {
    const http = (core: Profile['core']['result'], extended: Profile['core']['result']) =>
      provenFeatures([report(profile('GATEWAY-HTTP', core, extended, 'HTTPRouteRetry'))])
    const core = ['Gateway', 'HTTPRoute', 'ReferenceGrant']
    assert.deepEqual(http('success', 'failure'), core)
    assert.deepEqual(http('success', 'partial'), core)
    assert.deepEqual(http('failure', 'success'), [])
    assert.deepEqual(http('partial', 'success'), [])
    assert.deepEqual(provenFeatures([]), [])
  })

  it('exclude unknown profiles', () => {
    const { profiles } = report(profile('MESH-HTTP', 'success', 'success'))
    assert.deepEqual(provenFeatures([{ gatewayAPIVersion: 'v1.6.3', profiles }]), [])
  })
})
