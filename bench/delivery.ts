import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { followSource } from '../src/cli/reload.ts'
import type { Model } from '../src/model/model.ts'
import { Gateway } from '../src/proxy/gateway.ts'
import { loadText } from '../src/sources/file/load.ts'
import { XdsSource } from '../src/sources/xds/xds-source.ts'
import { createLogger } from '../src/telemetry/log.ts'
import { createMetrics } from '../src/telemetry/metrics.ts'
import { XdsClient } from '../src/xds/client.ts'
import { Replica } from '../src/xds/replica.ts'
import type { Report as ControllerReport, Order } from './delivery/controller.ts'
import { nanoseconds, type Report } from './report.ts'

const ROUTES = 5_000
const EDITS = 200
const WARM = 50
const PROXIES = 1_000
/** Routes of the Gateway in the memory measurement. */
const SMALL = 100

/** Time from a changed route at the controller until a proxy serves it; cost of proxies. */
export async function delivery(): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-delivery-'))
  const tokenFile = join(folder, 'token')
  writeFileSync(tokenFile, 'token')
  try {
    const { times, cpus } = await edits(tokenFile)
    const memory = await crowd(tokenFile)
    const p50 = quantile(times, 0.5)
    const p99 = quantile(times, 0.99)
    return {
      intro: [
        `One route of ${ROUTES.toLocaleString('en-US')} changes at the controller, a process of its own; the time until the`,
        'proxy has applied it, by delta ADS over a socket, the first changes left out. Memory is the',
        `resident set of the controller with ${PROXIES.toLocaleString('en-US')} proxies of one Gateway of ${SMALL} routes.`,
      ],
      tables: [
        {
          title: 'One changed route',
          columns: ['', 'p50', 'p99'],
          rows: [
            ['edit to applied', nanoseconds(p50 * 1e6), nanoseconds(p99 * 1e6)],
            [
              'CPU time of the publication',
              nanoseconds(quantile(cpus, 0.5) * 1e3),
              nanoseconds(quantile(cpus, 0.99) * 1e3),
            ],
          ],
        },
        {
          title: 'Proxies that are connected',
          columns: ['proxies', 'memory', 'for each'],
          rows: [
            ['0', `${mebibytes(memory.before)} MiB`, ''],
            [
              `${memory.proxies}`,
              `${mebibytes(memory.after)} MiB`,
              `${Math.round((memory.after - memory.before) / memory.proxies / 1024)} KiB`,
            ],
          ],
        },
      ],
      targets: [
        {
          what: 'edit to applied, p99',
          wanted: '<= 100 ms',
          measured: nanoseconds(p99 * 1e6),
          met: p99 <= 100,
        },
      ],
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

class Controller {
  readonly #child: ChildProcess
  #waiting: ((report: ControllerReport) => void) | undefined

  constructor() {
    this.#child = fork(join(import.meta.dirname, 'delivery/controller.ts'), {
      execArgv: ['--expose-gc'],
    })
    this.#child.on('message', (report: ControllerReport) => this.#waiting?.(report))
  }

  report(): Promise<ControllerReport> {
    return new Promise((resolve) => {
      this.#waiting = resolve
    })
  }

  ask(order: Order): Promise<ControllerReport> {
    const reported = this.report()
    this.#child.send(order)
    return reported
  }

  stop(): void {
    this.#child.kill()
  }
}

async function begin(routes: number) {
  const controller = new Controller()
  const listening = await controller.report()
  const port = listening.kind === 'listening' ? listening.port : 0
  await controller.ask({ kind: 'publish', model: modelOf(routes) })
  return { controller, address: `http://127.0.0.1:${port}` }
}

async function edits(tokenFile: string) {
  const { controller, address } = await begin(ROUTES)
  const { settings } = loadText('gateways: {}', 'x.yaml', { environment: {} })
  if (settings === undefined) throw new Error('no settings')
  const gateway = new Gateway({
    settings,
    log: createLogger({ write: () => {}, format: 'text', level: 'error' }),
    metrics: createMetrics(),
    reusePort: false,
  })
  const source = new XdsSource({ address, tokenFile, node: 'bench' })
  const stopping = new AbortController()
  let applied = (_at: number) => {}
  const next = () =>
    new Promise<number>((resolve) => {
      applied = resolve
    })
  const first = next()
  const following = followSource(
    source,
    {
      apply: (model, isStrict) => gateway.apply(model, isStrict),
      applied: () => applied(performance.timeOrigin + performance.now()),
      rejected: () => applied(Number.NaN),
      broke: () => applied(Number.NaN),
      unreported: () => applied(Number.NaN),
    },
    stopping.signal,
  )
  await first
  const times: number[] = []
  const cpus: number[] = []
  for (let count = 0; count < EDITS; count++) {
    const done = next()
    const index = (count * 97) % ROUTES
    const hostname = `edit-${count}.example.com`
    const published = await controller.ask({ kind: 'edit', index, hostname })
    const at = await done
    if (count >= WARM && published.kind === 'published') {
      times.push(at - published.at)
      cpus.push(published.cpu)
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  stopping.abort()
  await following
  await gateway.drain()
  controller.stop()
  return { times, cpus }
}

async function crowd(tokenFile: string) {
  const { controller, address } = await begin(SMALL)
  const rss = async () => {
    const report = await controller.ask({ kind: 'memory' })
    return report.kind === 'memory' ? report : { rss: 0, proxies: 0 }
  }
  const before = (await rss()).rss
  const stopping = new AbortController()
  const { signal } = stopping
  const clients = Array.from({ length: PROXIES }, async (_, n) => {
    const client = new XdsClient({ address, tokenFile, node: `p${n}`, replica: new Replica() })
    const running = client.run(signal)
    for (;;) {
      const model = await client.next(signal)
      if (model === undefined) break
      client.settle(model.version, [])
    }
    await running
  })
  let report = await rss()
  while (report.proxies < PROXIES) {
    await new Promise((resolve) => setTimeout(resolve, 200))
    report = await rss()
  }
  stopping.abort()
  await Promise.all(clients)
  controller.stop()
  return { before, after: report.rss, proxies: report.proxies }
}

function modelOf(count: number): Model {
  const routes = Array.from({ length: count }, (_, n) => ({
    name: `r${n}`,
    hostnames: [`app-${n % 500}.example.com`],
    matches: [{ path: { pathPrefix: `/r${n}` } }],
    policies: { authorization: { rules: [{ allow: `request.headers['x'] == 'v${n}'` }] } },
    backends: [{ host: '127.0.0.1:9' }],
  }))
  const text = JSON.stringify({ gateways: { default: { port: 0 } }, routes })
  const { value } = loadText(text.replace('"port":0', '"port":39871'), 'bench.yaml', {
    environment: {},
  }).result
  if (value === undefined) throw new Error('the configuration of the bench is wrong')
  return value
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20)
}
