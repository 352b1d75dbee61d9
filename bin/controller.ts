#!/usr/bin/env node
import { metricsResponses } from '../src/admin/answers.ts'
import type { Answer } from '../src/admin/servers.ts'
import { isListening, serve, text } from '../src/admin/servers.ts'
import { HttpsKubeClient } from '../src/controller/cluster/client.ts'
import { findCredentials } from '../src/controller/cluster/credentials.ts'
import { Controller } from '../src/controller/controller.ts'
import { HeldModels } from '../src/controller/held-models.ts'
import { type ControllerOptions, OptionError, readOptions } from '../src/controller/options.ts'
import { defaultSettings } from '../src/sources/file/sections/config.ts'
import { createMetrics } from '../src/telemetry/metrics.ts'
import { openLog } from '../src/telemetry/open-log.ts'
import { watchProcess } from '../src/telemetry/process-metrics.ts'

// Not awaited here: a release is no module, and a script cannot wait.
void run()

async function run(): Promise<void> {
  let options: ControllerOptions
  try {
    options = readOptions(process.env)
  } catch (error) {
    if (!(error instanceof OptionError)) throw error
    process.stderr.write(`controller: ${error.message}\n`)
    process.exitCode = 2
    return
  }
  const { log } = openLog({ format: 'json', level: options.logLevel, fd: 1 })
  const metrics = createMetrics()
  watchProcess(metrics, { worker: 'main' })
  const client = new HttpsKubeClient(findCredentials(process.env))
  const delivery = new HeldModels()
  const settings = defaultSettings()
  const controller = new Controller({ client, options, settings, delivery, log, metrics })
  const ready: Answer = (_, response) => {
    if (controller.isReady) return text(response, 200, 'ready\n')
    const kinds = controller.waitingFor.join(', ')
    text(response, 503, kinds === '' ? 'not translated yet\n' : `waiting for ${kinds}\n`)
  }
  const alive: Answer = (_, response) => text(response, 200, 'alive\n')
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
  for (const server of servers) {
    if (isListening(server)) continue
    process.stderr.write(`controller: ${server?.message}\n`)
    process.exitCode = 1
    return
  }
  controller.start()
  log.info('start', { identity: options.podName, controller: options.controllerName })
  const stop = () => {
    log.info('stop')
    void controller.stop().then(() => process.exit(0))
  }
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
}

function listenAt(port: number, responses: ReadonlyMap<string, Answer>) {
  const origin = { kind: 'object', object: 'controller', field: 'environment' } as const
  // Without a host: all addresses of the pod, IPv6 where there is one.
  return serve({ kind: 'tcp', host: '', port }, responses, origin)
}
