import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { snapshotOf } from './cluster/snapshot.ts'
import { deploymentOf } from './deployments.ts'

const labels = { 'gateway.networking.k8s.io/gateway-name': 'edge' }
const metadata = { name: 'edge', namespace: 'apps' }

function found(asked: readonly object[], ingress: readonly object[]) {
  const gateway = {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata,
    spec: { gatewayClassName: 'portcullis', addresses: asked },
  }
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { ...metadata, labels },
    spec: { type: 'LoadBalancer' },
    status: { loadBalancer: { ingress } },
  }
  const { addresses, missing } = deploymentOf(snapshotOf([gateway, service]), 'apps/edge')
  return [addresses.map(({ value }) => value), missing]
}

describe('addresses of a Gateway', () => {
  it('requested addresses that were not assigned are missing', () => {
    const given = [{ ip: '192.0.2.1' }]
    const ip = (value: string) => ({ type: 'IPAddress', value })
    assert.deepEqual(found([], given), [['192.0.2.1'], []])
    assert.deepEqual(found([ip('192.0.2.1')], given), [['192.0.2.1'], []])
    assert.deepEqual(found([{ value: '192.0.2.2' }], given), [['192.0.2.1'], ['192.0.2.2']])
    assert.deepEqual(found([ip('192.0.2.2'), ip('192.0.2.1')], given), [
      ['192.0.2.1'],
      ['192.0.2.2'],
    ])
    assert.deepEqual(found([ip('192.0.2.2')], []), [[], ['192.0.2.2']])
  })

  it('the load balancer chooses one without a value', () => {
    assert.deepEqual(found([{ type: 'IPAddress' }], [{ ip: '192.0.2.1' }]), [['192.0.2.1'], []])
  })

  it('hostnames are requested and assigned in the same way', () => {
    const asked = [{ type: 'Hostname', value: 'a.test' }]
    assert.deepEqual(found(asked, [{ hostname: 'a.test' }]), [['a.test'], []])
    assert.deepEqual(found(asked, [{ ip: '192.0.2.1' }]), [['192.0.2.1'], ['a.test']])
  })
})
