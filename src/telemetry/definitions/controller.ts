import { defineCounter } from '../counter.ts'
import type { MetricGroup } from '../definition.ts'
import { defineGauge } from '../gauge.ts'
import { defineHistogram } from '../histogram.ts'
import { label } from '../label.ts'
import { REQUEST_SECONDS } from './buckets.ts'

// Never the name of a route or policy: a cluster has too many, and their status reports it.
// Gateways are few, and an on-call engineer needs to know which one is affected.

const KIND = label('kind', 'kind of the object, such as `HTTPRoute`')
const GATEWAY = label('gateway', 'the Gateway, as `namespace/name`')

export const controllerLeader = defineGauge({
  name: 'portcullis_controller_leader',
  help: 'Whether this replica is the leader, which writes to the cluster.',
  labels: [],
  merge: 'max',
})

export const controllerObjects = defineGauge({
  name: 'portcullis_controller_objects',
  help: 'Watched objects in the cluster.',
  labels: [KIND],
  merge: 'max',
})

export const controllerConditions = defineGauge({
  name: 'portcullis_controller_conditions',
  help: 'Conditions in the status of objects.',
  labels: [
    KIND,
    label('condition', 'type of the condition, such as `Accepted`'),
    label('status', 'status of the condition', ['True', 'False', 'Unknown']),
  ],
  merge: 'max',
})

export const controllerWatchRestarts = defineCounter({
  name: 'portcullis_controller_watch_restarts_total',
  help: 'Watches that ended and were restarted.',
  labels: [KIND, label('reason', 'why it ended', ['closed', 'expired', 'forbidden', 'failed'])],
})

export const controllerQueueDepth = defineGauge({
  name: 'portcullis_controller_queue_depth',
  help: 'Object changes that are waiting to be processed.',
  labels: [],
})

export const controllerReconciles = defineCounter({
  name: 'portcullis_controller_reconciles_total',
  help: 'Translations of the cluster state.',
  labels: [label('outcome', 'the outcome', ['changed', 'unchanged', 'failed'])],
})

export const controllerReconcileDuration = defineHistogram({
  name: 'portcullis_controller_reconcile_duration_seconds',
  help: 'Time to translate the cluster state.',
  labels: [],
  unit: 'seconds',
  bounds: REQUEST_SECONDS,
})

export const controllerStatusWrites = defineCounter({
  name: 'portcullis_controller_status_writes_total',
  help: 'Status updates written to objects in the cluster.',
  labels: [KIND, label('outcome', 'the outcome', ['written', 'conflict', 'failed'])],
})

export const controllerApplies = defineCounter({
  name: 'portcullis_controller_applies_total',
  help: 'Proxy objects, such as Deployments, that were applied or deleted.',
  labels: [KIND, label('outcome', 'the outcome', ['applied', 'deleted', 'failed'])],
})

export const controllerXdsConnections = defineGauge({
  name: 'portcullis_controller_xds_connections',
  help: 'Proxies connected to this replica.',
  labels: [GATEWAY],
})

export const controllerXdsRejections = defineCounter({
  name: 'portcullis_controller_xds_refusals_total',
  help: 'Proxies that were rejected because they did not prove their identity.',
  labels: [
    label('reason', 'why', [
      'missing-token',
      'invalid-token',
      'wrong-audience',
      'unknown-gateway',
      'review-failed',
    ]),
  ],
})

export const controllerXdsDeliveries = defineCounter({
  name: 'portcullis_controller_xds_deliveries_total',
  help: 'Configurations sent to proxies, counted when the proxy responds.',
  labels: [GATEWAY, label('outcome', 'the response of the proxy', ['accepted', 'rejected'])],
})

export const controllerXdsStaleProxies = defineGauge({
  name: 'portcullis_controller_xds_stale_proxies',
  help: 'Connected proxies that do not run the newest configuration.',
  labels: [GATEWAY],
  isPlanned: true,
})

export const controllerXdsSentBytes = defineCounter({
  name: 'portcullis_controller_xds_sent_bytes_total',
  help: 'Bytes of configuration sent to proxies.',
  labels: [GATEWAY],
  unit: 'bytes',
})

export const controllerDeliveryDuration = defineHistogram({
  name: 'portcullis_controller_delivery_duration_seconds',
  help: 'Time from observing a change in the cluster to the acknowledgement of the last affected proxy.',
  labels: [],
  unit: 'seconds',
  bounds: REQUEST_SECONDS,
  isPlanned: true,
})

export const controllerCertificateExpiry = defineGauge({
  name: 'portcullis_controller_certificate_expiry_timestamp_seconds',
  help: 'Expiry time of the certificate that the controller presents to proxies, in seconds since 1970.',
  labels: [],
  unit: 'seconds',
  merge: 'min',
  isPlanned: true,
})

export const CONTROLLER: MetricGroup = {
  title: 'Controller',
  metrics: [
    controllerLeader,
    controllerObjects,
    controllerConditions,
    controllerWatchRestarts,
    controllerQueueDepth,
    controllerReconciles,
    controllerReconcileDuration,
    controllerStatusWrites,
    controllerApplies,
    controllerXdsConnections,
    controllerXdsRejections,
    controllerXdsDeliveries,
    controllerXdsStaleProxies,
    controllerXdsSentBytes,
    controllerDeliveryDuration,
    controllerCertificateExpiry,
  ],
}
