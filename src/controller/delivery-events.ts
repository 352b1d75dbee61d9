import {
  controllerApplies,
  controllerXdsConnections,
  controllerXdsDeliveries,
  controllerXdsRejections,
  controllerXdsSentBytes,
} from '../telemetry/definitions/controller.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { DeliveryServerOptions } from './delivery-server.ts'
import type { Deployed } from './deploy/deployer.ts'

/** Logs events between the controller and proxies, and updates their metrics. */
export function deliveryEvents(
  log: Logger,
  metrics: Metrics,
): NonNullable<DeliveryServerOptions['events']> {
  const connections = metrics.gauge(controllerXdsConnections)
  const counts = new Map<string, number>()
  const count = (gateway: string, change: 1 | -1) => {
    const now = (counts.get(gateway) ?? 0) + change
    counts.set(gateway, now)
    connections.at({ gateway }).set(now)
  }
  return {
    connected: (gateway, node) => {
      count(gateway, 1)
      log.info('proxy', { gateway, node, message: 'connected' })
    },
    disconnected: (gateway, node) => {
      count(gateway, -1)
      log.info('proxy', { gateway, node, message: 'disconnected' })
    },
    rejected: (reason) => {
      metrics.counter(controllerXdsRejections).at({ reason }).inc()
      log.warn('proxy', { message: 'rejected', reason })
    },
    settled: (gateway, node, { version, rejections }) => {
      const outcome = rejections.length === 0 ? 'accepted' : 'rejected'
      metrics.counter(controllerXdsDeliveries).at({ gateway, outcome }).inc()
      if (outcome === 'accepted') log.debug('proxy', { gateway, node, version })
      else log.warn('proxy', { gateway, node, version, rejected: rejections.length })
    },
    sent: (gateway, bytes) => metrics.counter(controllerXdsSentBytes).at({ gateway }).inc(bytes),
    failed: (error) => log.error('certificate', { error: error.message }),
  }
}

export function deploymentEvents(
  log: Logger,
  metrics: Metrics,
): (gateway: string, outcome: Deployed) => void {
  const applies = metrics.counter(controllerApplies)
  // A failure begins with the failed object, unless the Gateway's own parameters are invalid.
  const kindOf = (title: string) => /^([A-Z]\w*) \S+\/\S+/.exec(title)?.[1] ?? 'Gateway'
  return (gateway, { applied, deleted, failures }) => {
    for (const title of applied) applies.at({ kind: kindOf(title), outcome: 'applied' }).inc()
    for (const title of deleted) applies.at({ kind: kindOf(title), outcome: 'deleted' }).inc()
    for (const failure of failures) applies.at({ kind: kindOf(failure), outcome: 'failed' }).inc()
    if (applied.length + deleted.length > 0) log.info('deploy', { gateway, applied, deleted })
    if (failures.length > 0) log.warn('deploy', { gateway, failures })
  }
}
