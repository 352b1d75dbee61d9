import { objectsOf, type Snapshot } from './cluster/snapshot.ts'
import type { Deployment } from './delivery.ts'
import { objectName } from './deploy/object-name.ts'
import { service } from './resources/cluster-objects.ts'

const GATEWAY_NAME = 'gateway.networking.k8s.io/gateway-name'

/** The objects deployed for a Gateway: they have its name and its labels. */
export function deploymentOf(snapshot: Snapshot, gateway: string): Omit<Deployment, 'failures'> {
  const [namespace, name = ''] = gateway.split('/')
  const label = objectName(name)
  const own = (kind: string) => {
    const found = objectsOf(snapshot, kind).get(`${namespace}/${label}`)
    return found?.metadata.labels?.[GATEWAY_NAME] === label ? [found] : []
  }
  const isReady = [...own('Deployment'), ...own('DaemonSet')].some(({ status }) => {
    const { readyReplicas = 0, numberReady = 0 } = (status ?? {}) as {
      readonly readyReplicas?: number
      readonly numberReady?: number
    }
    return readyReplicas + numberReady > 0
  })
  const addresses = own('Service').flatMap(addressesOf)
  const missing = requestedAddresses(snapshot, gateway).filter(
    (one) => !addresses.some(({ value }) => value === one),
  )
  return { isReady, addresses, missing }
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
