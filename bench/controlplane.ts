import { readFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { chartFolder } from '../test/charts/helm.ts'
import { gatewayApiDefinitions } from '../test/cluster/gateway-api.ts'
import { type Cluster, eventually, missing, startCluster } from '../test/cluster/harness.ts'
import { bringCertificate, ownAddress } from '../test/cluster/plane.ts'
import { Programs, type Running, SYSTEM } from '../test/cluster/programs.ts'
import { freePorts } from '../test/free-port.ts'
import { type Measured, reportOf } from './controlplane/report.ts'
import type { Report } from './report.ts'

/** CONTROLPLANE_SIZES: how many routes, each with a policy; the first is what others compare with. */
const SIZES = (process.env['CONTROLPLANE_SIZES'] ?? '100,1000,5000').split(',').map(Number)
const EDITS = 210
const WARM = 10
/** Requests to the API server at once. */
const AT_ONCE = 16
const GATEWAYS = '/apis/gateway.networking.k8s.io/v1/namespaces/apps'
const POLICIES = '/apis/portcullis.dev/v1alpha1/namespaces/apps/proxypolicies'
const MERGE = 'application/merge-patch+json'

/** A controller and a proxy as processes, at a real API server. */
export async function controlplane(): Promise<Report> {
  const reason = missing()
  if (reason !== undefined) throw new Error(reason)
  const bench = await ControlPlaneBench.start()
  try {
    const all: Measured[] = []
    for (const size of SIZES) all.push(await bench.measure(size))
    return reportOf(all)
  } finally {
    await bench.close()
  }
}

class ControlPlaneBench {
  readonly #cluster: Cluster
  readonly #programs: Programs
  readonly #port: number
  readonly #controller: Running
  readonly #closing: (() => void)[] = []
  #proxy: Running | undefined
  #routes = 0

  private constructor(cluster: Cluster, programs: Programs, port: number, controller: Running) {
    this.#cluster = cluster
    this.#programs = programs
    this.#port = port
    this.#controller = controller
  }

  static async start(): Promise<ControlPlaneBench> {
    const cluster = await startCluster()
    const [port = 0] = await freePorts(8)
    for (const name of ['apps', SYSTEM]) cluster.createNamespace(name)
    const definitions = join(chartFolder('portcullis-crds'), 'templates')
    for (const file of [definitions, ...gatewayApiDefinitions('experimental')]) {
      cluster.kubectl(['apply', '--server-side', '-f', file])
    }
    cluster.helm(['install', 'portcullis', chartFolder('portcullis'), '--namespace', SYSTEM])
    bringCertificate(cluster)
    const programs = new Programs(cluster, port)
    try {
      const controller = await programs.startController()
      const bench = new ControlPlaneBench(cluster, programs, port, controller)
      await bench.#prepare()
      return bench
    } catch (error) {
      await programs.close()
      await cluster.close()
      throw error
    }
  }

  async close(): Promise<void> {
    for (const close of this.#closing) close()
    await this.#programs.close()
    await this.#cluster.close()
  }

  async #prepare(): Promise<void> {
    // API servers accept no loopback address in an EndpointSlice.
    const backend = createServer((_, response) => response.end('served')).listen(0, ownAddress)
    this.#closing.push(() => void backend.close())
    await new Promise((resolve) => backend.once('listening', resolve))
    const { port } = backend.address() as AddressInfo
    const objects = [
      {
        apiVersion: 'gateway.networking.k8s.io/v1',
        kind: 'Gateway',
        metadata: { name: 'edge', namespace: 'apps' },
        spec: {
          gatewayClassName: 'portcullis',
          listeners: [{ name: 'http', protocol: 'HTTP', port: this.#port + 3 }],
        },
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'app', namespace: 'apps' },
        spec: { ports: [{ name: 'web', port: 80, targetPort: port }] },
      },
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: {
          name: 'app-1',
          namespace: 'apps',
          labels: { 'kubernetes.io/service-name': 'app' },
        },
        addressType: 'IPv4',
        ports: [{ name: 'web', port }],
        endpoints: [{ addresses: [ownAddress] }],
      },
    ]
    const list = { apiVersion: 'v1', kind: 'List', items: objects }
    this.#cluster.kubectl(['apply', '--server-side', '-f', '-'], JSON.stringify(list))
    const service = '/api/v1/namespaces/apps/services/edge'
    // The Deployment is the last that is applied.
    for (const path of [service, '/apis/apps/v1/namespaces/apps/deployments/edge']) {
      await eventually(async () => (await this.#ask('GET', path)) === 200 || undefined, path, 120)
    }
    const status = { loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } }
    await this.#ask('PATCH', `${service}/status`, { status }, MERGE)
    const token = await this.#programs.tokenFor('edge')
    this.#proxy = await this.#programs.startProxy('edge', token, this.#port + 5)
    await eventually(() => this.#programs.isReady(this.#port + 5), 'a ready proxy', 180)
  }

  async measure(size: number): Promise<Measured> {
    const began = performance.now()
    const probe = this.#probe()
    await this.#create(size)
    await this.#programmed(size)
    const seconds = (performance.now() - began) / 1000
    const attached = await this.#attached(size)
    const [before, edited] = [this.#cpu(), performance.now()]
    const edits: Edit[] = []
    const [translated, applied] = [new Set<number>(), new Set<number>()]
    for (let count = 0; count < EDITS; count++) {
      edits.push(await this.#edit(count, size))
      timesOf(this.#controller, TRANSLATED, translated)
      timesOf(this.#proxy, APPLIED, applied)
    }
    const whole = this.#cpu() - before
    const editing = (performance.now() - edited) / 1000
    const { requests, failed } = await probe()
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    const idle = this.#cpu()
    await new Promise((resolve) => setTimeout(resolve, 5_000))
    const rest = (this.#cpu() - idle) / 5
    // What it spends on leases and watches anyway is no cost of an edit, however long that takes.
    const cpu = (whole - rest * editing) / EDITS
    const rss = this.#rss()
    timesOf(this.#proxy, APPLIED, applied)
    const warm = edits.slice(WARM)
    const after = (times: ReadonlySet<number>) =>
      warm.map(({ began }) => Math.min(...[...times].filter((at) => at >= began)) - began)
    return {
      routes: size,
      seconds,
      attached,
      edits: warm.map(({ took }) => took),
      translated: after(translated),
      applied: after(applied),
      cpu,
      rest,
      rss,
      requests,
      failed,
    }
  }

  async #create(size: number): Promise<void> {
    const numbers = Array.from({ length: size - this.#routes }, (_, n) => n + this.#routes)
    this.#routes = size
    const worker = async () => {
      for (let n = numbers.shift(); n !== undefined; n = numbers.shift()) {
        await this.#ask('POST', `${GATEWAYS}/httproutes`, routeOf(n))
        await this.#ask('POST', POLICIES, policyOf(n, `v${n}`))
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
  }

  /** Until the proxies have every policy. */
  async #programmed(size: number): Promise<void> {
    const isDone = async () => {
      const { body } = await this.#cluster.ask('GET', `${POLICIES}?resourceVersion=0`)
      const { items } = body as unknown as { readonly items: readonly PolicyObject[] }
      const done = items.filter(({ status }) =>
        status?.ancestors?.some(({ conditions }) =>
          conditions.some((one) => one.type === 'Programmed' && one.status === 'True'),
        ),
      )
      if (done.length === size) return true
      // Thousands of policies are a long answer: whoever asks all the time measures that.
      await new Promise((resolve) => setTimeout(resolve, size))
      return undefined
    }
    await eventually(isDone, `${size} programmed policies`, 600)
  }

  async #attached(size: number): Promise<number> {
    let count = 0
    const read = async () => {
      const { body } = await this.#cluster.ask('GET', `${GATEWAYS}/gateways/edge`)
      const { listeners } = body['status'] as {
        readonly listeners: readonly { readonly attachedRoutes: number }[]
      }
      count = listeners[0]?.attachedRoutes ?? 0
      return count === size || undefined
    }
    await eventually(read, `${size} attached routes`, 60).catch(() => undefined)
    return count
  }

  /** Who may pass changes; the time until it is so at the socket. */
  async #edit(count: number, size: number): Promise<Edit> {
    const n = (count * 97) % size
    const value = `e${size}-${count}`
    const { spec } = policyOf(n, value)
    await this.#ask('PATCH', `${POLICIES}/p${n}`, { spec }, MERGE)
    const [began, wall] = [performance.now(), Date.now()]
    for (;;) {
      if ((await this.#get(`/r${n}/x`, value)) === 200) {
        return { began: wall, took: performance.now() - began }
      }
      if (performance.now() - began > 60_000) throw new Error('an edit is not enforced')
      // Requests as fast as they go would take the CPU time that the edit needs.
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }

  /** Requests to a route that nobody edits, one after the other, until it is stopped. */
  #probe(): () => Promise<{ readonly requests: number; readonly failed: number }> {
    let [requests, failed, isRunning] = [0, 0, true]
    const run = async () => {
      while (isRunning) {
        const status = await this.#get('/nowhere', '')
        requests++
        if (status !== 404) {
          failed++
          process.stderr.write(`a request failed: ${status === 0 ? 'no response' : status}\n`)
        }
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
    const ended = run()
    return async () => {
      isRunning = false
      await ended
      return { requests, failed }
    }
  }

  #get(path: string, value: string): Promise<number> {
    return new Promise((resolve) => {
      const headers = { host: 'app.example.com', 'x-who': value }
      const where = { host: '127.0.0.1', port: this.#port + 3, path, headers, agent: false }
      const sent = request(where, (response) => {
        response.resume()
        response.once('end', () => resolve(response.statusCode ?? 0))
      })
      sent.on('error', () => resolve(0))
      sent.end()
    })
  }

  async #ask(method: string, path: string, body?: object, type?: string): Promise<number> {
    const { status } = await this.#cluster.ask(method, path, body, type)
    if (method !== 'GET' && status >= 300) throw new Error(`${method} ${path}: ${status}`)
    return status
  }

  /** Milliseconds since the controller started. */
  #cpu(): number {
    const text = readFileSync(`/proc/${this.#controller.child.pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  }

  #rss(): number {
    const text = readFileSync(`/proc/${this.#controller.child.pid}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+)/.exec(text)?.[1] ?? 0) * 1024
  }
}

interface Edit {
  /** When the API server had stored it, in milliseconds since 1970. */
  readonly began: number
  /** Milliseconds until it was enforced. */
  readonly took: number
}

/** What the controller and the proxy log about an edit. */
const TRANSLATED = /"translate".*"changed":\["/
const APPLIED = /config.*outcome=applied/

/** When a program logged such a line, of those that it still has. */
function timesOf(program: Running | undefined, line: RegExp, times: Set<number>): void {
  for (const text of program?.output().split('\n') ?? []) {
    const [time] = line.test(text) ? (/\d{4}-\d\d-\d\dT[\d:.]+Z/.exec(text) ?? []) : []
    if (time !== undefined) times.add(Date.parse(time))
  }
}

interface PolicyObject {
  readonly status?: {
    readonly ancestors?: readonly {
      readonly conditions: readonly { readonly type: string; readonly status: string }[]
    }[]
  }
}

function routeOf(n: number): object {
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name: `r${n}` },
    spec: {
      parentRefs: [{ name: 'edge' }],
      rules: [
        {
          matches: [{ path: { type: 'PathPrefix', value: `/r${n}` } }],
          backendRefs: [{ name: 'app', port: 80 }],
        },
      ],
    },
  }
}

function policyOf(n: number, value: string) {
  const policy = { matchExpressions: [`request.headers['x-who'] == '${value}'`] }
  return {
    apiVersion: 'portcullis.dev/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: { name: `p${n}` },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: `r${n}` }],
      traffic: { authorization: { action: 'Allow', policy } },
    },
  }
}
