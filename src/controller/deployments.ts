import { objectsOf, type Snapshot } from './cluster/snapshot.ts'
import type { Deployment } from './delivery.ts'
import { objectName } from './deploy/object-name.ts'
import { service } from './resources/cluster-objects.ts'

const GATEWAY_NAME = 'gateway.networking.k8s.io/gateway-name'

/** The objects deployed for a Gateway: they have its name and its labels. */
export function deploymentOf(snapshot: Snapshot, gateway: string): Omit<Deployment, 'failures'> {
  const found = objectsOf(snapshot, 'Service').get(serviceOf(gateway))
  const isOwn = found?.metadata.labels?.[GATEWAY_NAME] === found?.metadata.name
  const addresses = found !== undefined && isOwn ? addressesOf(found) : []
  const missing = requestedAddresses(snapshot, gateway).filter(
    (one) => !addresses.some(({ value }) => value === one),
  )
  return { addresses, missing }
}

/** The key of the Service of a Gateway. */
export function serviceOf(gateway: string): string {
  const [namespace, name = ''] = gateway.split('/')
  return `${namespace}/${objectName(name)}`
}

/** An address without a value leaves the choice to the load balancer. */
function requestedAddresses(snapshot: Snapshot, gateway: string): readonly string[] {
  const { addresses = [] } = (objectsOf(snapshot, 'Gateway').get(gateway)?.spec ?? {}) as {
    readonly addresses?: readonly { readonly value?: string }[]
  }
  return addresses.flatMap(({ value = '' }) => (value === '' ? [] : [value]))
}

/** The assigned addresses of a load balancer, or the cluster IP of any other Service. */
function addressesOf(object: unknown): Deployment['addresses'] {
  const read = service.safeParse(object)
  if (!read.success) return []
  const { spec, status } = read.data
  if (spec.type === 'LoadBalancer') {
    return (status?.loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }) => {
      if (ip !== undefined && ip !== '') return [{ type: 'IPAddress', value: ip }]
      return hostname === undefined || hostname === ''
        ? []
        : [{ type: 'Hostname', value: hostname }]
    })
  }
  const { clusterIP } = spec
  const isThere = clusterIP !== undefined && clusterIP !== '' && clusterIP !== 'None'
  return isThere ? [{ type: 'IPAddress', value: clusterIP }] : []
}
