#!/usr/bin/env node
import own from '../package.json' with { type: 'json' }
import { metricsResponses } from '../src/admin/responses.ts'
import type { RequestHandler } from '../src/admin/servers.ts'
import { isListening, serve, text } from '../src/admin/servers.ts'
import { HttpsKubeClient } from '../src/controller/cluster/client.ts'
import { findCredentials } from '../src/controller/cluster/credentials.ts'
import { Controller } from '../src/controller/controller.ts'
import { deliveryEvents, deploymentEvents } from '../src/controller/delivery-events.ts'
import { startDelivery } from '../src/controller/delivery-server.ts'
import { GatewayDeployments } from '../src/controller/deploy/gateway-deployments.ts'
import { type ControllerOptions, OptionError, readOptions } from '../src/controller/options.ts'
import { defaultSettings } from '../src/sources/file/sections/config.ts'
import type { Logger } from '../src/telemetry/log.ts'
import { createMetrics } from '../src/telemetry/metrics.ts'
import { openLog } from '../src/telemetry/open-log.ts'
import { watchProcess } from '../src/telemetry/process-metrics.ts'

// Not awaited: a release is a script, not a module, and has no top-level await.
void run()

async function run(): Promise<void> {
  let options: ControllerOptions
  try {
    options = readOptions(process.env)
  } catch (error) {
    if (!(error instanceof OptionError)) throw error
    fail(error.message, 2)
    return
  }
  const { log } = openLog({ format: 'json', level: options.logLevel, fd: 1 })
  try {
    await serveUntilStopped(options, log)
  } catch (error) {
    // The API server is unreachable or a port is in use: the supervisor restarts the process.
    fail((error as Error).message, 1)
    process.exit()
  }
}

function fail(message: string, code: number): void {
  process.stderr.write(`controller: ${message}\n`)
  process.exitCode = code
}

async function serveUntilStopped(options: ControllerOptions, log: Logger): Promise<void> {
  const metrics = createMetrics()
  watchProcess(metrics, { worker: 'main' })
  const client = new HttpsKubeClient(findCredentials(process.env))
  const { namespace, proxyImage, xds } = options
  let controller: Controller | undefined
  const changed = () => controller?.proxiesChanged()
  const delivery = await startDelivery({
    client,
    namespace,
    ...xds,
    gatewayOf: (where, account) => controller?.gatewayOf(where, account),
    events: deliveryEvents(log, metrics),
    changed,
    trustChanged: changed,
  })
  const deployments = new GatewayDeployments({
    client,
    controllerName: options.controllerName,
    image: { ...proxyImage, tag: proxyImage.tag ?? own.version },
    xdsAddress: delivery.address,
    xdsCa: delivery.trust,
    onDeployed: deploymentEvents(log, metrics),
  })
  const running = new Controller({
    client,
    options,
    settings: defaultSettings(),
    delivery: delivery.publications,
    deployments,
    log,
    metrics,
  })
  controller = running
  const ready: RequestHandler = (_, response) => {
    if (running.isReady) return text(response, 200, 'ready\n')
    const kinds = running.waitingFor.join(', ')
    text(response, 503, kinds === '' ? 'not translated yet\n' : `waiting for ${kinds}\n`)
  }
  const alive: RequestHandler = (_, response) => text(response, 200, 'alive\n')
  const servers = await Promise.all([
    listenAt(
      options.healthPort,
      new Map([
        ['/readyz', ready],
        ['/livez', alive],
      ]),
    ),
    listenAt(
      options.metricsPort,
      metricsResponses(() => Promise.resolve(metrics.read())),
    ),
  ])
  for (const server of servers) if (!isListening(server)) throw new Error(server?.message)
  running.start()
  log.info('start', { identity: options.podName, controller: options.controllerName })
  const stop = () => {
    log.info('stop')
    void Promise.all([running.stop(), delivery.close()]).then(() => process.exit(0))
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
}

function listenAt(port: number, responses: ReadonlyMap<string, RequestHandler>) {
  const origin = { kind: 'object', object: 'controller', field: 'environment' } as const
  // An empty host means all addresses of the pod, including IPv6 if available.
  return serve({ kind: 'tcp', host: '', port }, responses, origin)
}
