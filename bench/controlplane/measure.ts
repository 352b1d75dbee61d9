import { readFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Cluster, eventually } from '../../test/cluster/harness.ts'
import { ownAddress } from '../../test/cluster/plane.ts'
import type { Plane, PolicyObject } from './plane.ts'
import type { Measured } from './report.ts'

const EDITS = 210
const WARM = 10
/** Concurrent requests to the API server. */
const AT_ONCE = 16
const GATEWAYS = '/apis/gateway.networking.k8s.io/v1/namespaces/apps'
const MERGE = 'application/merge-patch+json'

/** Routes and policies of one control plane, against a separate API server. */
export class PlaneBench {
  readonly #cluster: Cluster
  readonly #plane: Plane
  readonly #closing: (() => void)[] = []
  #routes = 0
  #hasListened = false

  constructor(cluster: Cluster, plane: Plane) {
    this.#cluster = cluster
    this.#plane = plane
  }

  async prepare(): Promise<void> {
    // API servers reject loopback addresses in an EndpointSlice.
    const backend = createServer((_, response) => response.end('served')).listen(0, ownAddress)
    this.#closing.push(() => void backend.close())
    await new Promise((resolve) => backend.once('listening', resolve))
    const { port } = backend.address() as AddressInfo
    const objects = objectsOf(this.#plane, port)
    const list = { apiVersion: 'v1', kind: 'List', items: objects }
    this.#cluster.kubectl(['apply', '--server-side', '-f', '-'], JSON.stringify(list))
    await this.#plane.ready()
  }

  close(): void {
    for (const close of this.#closing) close()
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
    const look = () => {
      const logged = this.#plane.logged?.()
      for (const time of logged?.translated ?? []) translated.add(time)
      for (const time of logged?.applied ?? []) applied.add(time)
    }
    for (let count = 0; count < EDITS; count++) {
      edits.push(await this.#edit(count, size))
      look()
    }
    const whole = this.#cpu() - before
    const editing = (performance.now() - edited) / 1000
    const { requests, failed } = await probe()
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    const idle = this.#cpu()
    await new Promise((resolve) => setTimeout(resolve, 5_000))
    const rest = (this.#cpu() - idle) / 5
    // CPU time for leases and watches accrues anyway and does not count as cost of an edit.
    const cpu = (whole - rest * editing) / EDITS
    look()
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
      rss: this.#rss(),
      requests,
      failed,
    }
  }

  async #create(size: number): Promise<void> {
    const numbers = Array.from({ length: size - this.#routes }, (_, n) => n + this.#routes)
    this.#routes = size
    const { policies, policyOf } = this.#plane
    const worker = async () => {
      for (let n = numbers.shift(); n !== undefined; n = numbers.shift()) {
        await this.#write('POST', `${GATEWAYS}/httproutes`, routeOf(n))
        await this.#write('POST', policies, policyOf(n, `v${n}`))
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
  }

  /** Waits until all policies are reported as programmed, and the last one is enforced. */
  async #programmed(size: number): Promise<void> {
    const { policies, isProgrammed } = this.#plane
    const isDone = async () => {
      const { body } = await this.#cluster.ask('GET', `${policies}?resourceVersion=0`)
      const { items } = body as unknown as { readonly items: readonly PolicyObject[] }
      if (items.filter(isProgrammed).length === size) return true
      // Thousands of policies make a long response: constant polling would distort the figures.
      await new Promise((resolve) => setTimeout(resolve, size))
      return undefined
    }
    await eventually(isDone, `${size} programmed policies`, 600)
    const last = size - 1
    const isServed = async () => (await this.#get(`/r${last}/x`, `v${last}`)) === 200 || undefined
    await eventually(isServed, 'the last route', 120)
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

  /** Changes the admitted value of one policy; returns the time until the proxy enforces it. */
  async #edit(count: number, size: number): Promise<Edit> {
    const n = (count * 97) % size
    const value = `e${size}-${count}`
    const { policies, policyOf } = this.#plane
    const { spec } = policyOf(n, value)
    await this.#write('PATCH', `${policies}/p${n}`, { spec })
    const [began, wall] = [performance.now(), Date.now()]
    for (;;) {
      if ((await this.#get(`/r${n}/x`, value)) === 200) {
        return { began: wall, took: performance.now() - began }
      }
      if (performance.now() - began > 60_000) throw new Error('an edit is not enforced')
      // Requests without a pause would use the CPU time that the edit needs.
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }

  /** Sends requests to a path that no edit touches, one after the other, until stopped. */
  #probe(): () => Promise<{ readonly requests: number; readonly failed: number }> {
    let [requests, failed, isRunning] = [0, 0, true]
    const run = async () => {
      while (isRunning) {
        const status = await this.#get('/nowhere', '')
        // Envoy Gateway does not listen before the first route exists.
        if (status !== 0 || this.#hasListened) requests++
        this.#hasListened ||= status !== 0
        if (status !== 404 && this.#hasListened) {
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
      const where = { host: '127.0.0.1', port: this.#plane.port, path, headers, agent: false }
      const sent = request(where, (response) => {
        response.resume()
        response.once('end', () => resolve(response.statusCode ?? 0))
      })
      sent.on('error', () => resolve(0))
      sent.end()
    })
  }

  async #write(method: string, path: string, body: object): Promise<void> {
    const type = method === 'PATCH' ? MERGE : undefined
    const { status, body: said } = await this.#cluster.ask(method, path, body, type)
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${said.message}`)
  }

  /** CPU milliseconds of the controller since its start. */
  #cpu(): number {
    const text = readFileSync(`/proc/${this.#plane.controller}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  }

  #rss(): number {
    const text = readFileSync(`/proc/${this.#plane.controller}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+)/.exec(text)?.[1] ?? 0) * 1024
  }
}

interface Edit {
  /** When the API server had stored the edit, in milliseconds since 1970. */
  readonly began: number
  /** Milliseconds until the edit was enforced. */
  readonly took: number
}

function objectsOf({ gatewayClass, port }: Plane, backend: number): readonly object[] {
  return [
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'Gateway',
      metadata: { name: 'edge', namespace: 'apps' },
      spec: {
        gatewayClassName: gatewayClass,
        listeners: [{ name: 'http', protocol: 'HTTP', port }],
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'app', namespace: 'apps' },
      spec: { ports: [{ name: 'web', port: 80, targetPort: backend }] },
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
      ports: [{ name: 'web', port: backend }],
      endpoints: [{ addresses: [ownAddress] }],
    },
  ]
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
