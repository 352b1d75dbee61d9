// A control plane without nodes for the suites that need all of it: a real API server, the
// controller as a program with the chart's permissions, proxies as processes, and backends.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { makeAuthority, makeServingCertificate } from '../../src/xds/certificate.ts'
import { chartFolder } from '../charts/helm.ts'
import { freePorts } from '../free-port.ts'
import { gatewayApiDefinitions } from './gateway-api.ts'
import { type Cluster, eventually, startCluster } from './harness.ts'
import { type ControllerStart, Programs, type Running, SYSTEM } from './programs.ts'

/** API servers reject loopback addresses in an EndpointSlice. */
export const ownAddress = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address

/** Seconds: on a busy machine a process starts late. */
export const PROXY_START = 180

export const GATEWAY_API = '/apis/gateway.networking.k8s.io/v1'
export const PORTCULLIS_API = '/apis/portcullis.dev/v1alpha1'

export interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
  readonly observedGeneration?: number
}

interface Conditions {
  readonly conditions?: readonly Condition[]
}

/** The part of an object that contains its conditions. */
interface Seen {
  readonly metadata: { readonly generation?: number }
  readonly status?: Conditions & {
    readonly ancestors?: readonly Conditions[]
    readonly parents?: readonly Conditions[]
  }
}

export class Plane {
  readonly cluster: Cluster
  readonly programs: Programs
  controller: Running | undefined
  /** Options for starting controllers. */
  controllerStart: ControllerStart = {}
  /** The first port that no program uses yet. */
  #port: number
  readonly #last: number
  readonly #servers: Server[] = []

  constructor(cluster: Cluster, ports: { readonly first: number; readonly count: number }) {
    this.cluster = cluster
    this.programs = new Programs(cluster, ports.first)
    this.#port = ports.first + 3
    this.#last = ports.first + ports.count - 1
  }

  async close(): Promise<void> {
    await this.programs.close()
    for (const server of this.#servers) {
      server.close()
      server.closeAllConnections()
    }
    await this.cluster.close()
  }

  /** Reserves `count` ports and returns the first. */
  take(count = 1): number {
    const first = this.#port
    this.#port += count
    assert.ok(this.#port <= this.#last + 1, 'too few ports were looked for')
    return first
  }

  /** Starts a server that EndpointSlices can reference; returns its port. */
  async serve(listener: RequestListener): Promise<number> {
    const server = createServer(listener).listen(0, ownAddress)
    await once(server, 'listening')
    this.#servers.push(server)
    return (server.address() as AddressInfo).port
  }

  apply(...objects: readonly (object | string)[]): void {
    const items = objects.filter((one) => typeof one === 'object')
    if (items.length > 0) {
      const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
      this.cluster.kubectl(['apply', '--server-side', '-f', '-'], list)
    }
    for (const text of objects.filter((one) => typeof one === 'string')) {
      this.cluster.kubectl(['apply', '--server-side', '-f', '-'], text)
    }
  }

  /** A Service, with its endpoints, for a port of this machine. */
  serviceOf(name: string, port: number, namespace = 'apps'): readonly object[] {
    return [
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name, namespace },
        spec: { ports: [{ name: 'web', port: 8080, targetPort: port }] },
      },
      {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: {
          name: `${name}-1`,
          namespace,
          labels: { 'kubernetes.io/service-name': name },
        },
        addressType: 'IPv4',
        ports: [{ name: 'web', port }],
        endpoints: [{ addresses: [ownAddress] }],
      },
    ]
  }

  /** There is no load balancer here, and a Gateway is not programmed without an address. */
  async giveAddress(gateway: string): Promise<void> {
    const path = `/api/v1/namespaces/apps/services/${gateway}/status`
    const status = { loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } }
    await eventually(async () => {
      const response = await this.cluster.ask(
        'PATCH',
        path,
        { status },
        'application/merge-patch+json',
      )
      return response.status === 200 ? true : undefined
    }, `the Service of ${gateway}`)
  }

  /** Waits until all objects of a Gateway exist: its Deployment is applied last. */
  async deployed(gateway: string): Promise<void> {
    const path = `/apis/apps/v1/namespaces/apps/deployments/${gateway}`
    await eventually(async () => {
      const { status } = await this.cluster.ask('GET', path)
      return status === 200 ? true : undefined
    }, `the Deployment of ${gateway}`)
  }

  /**
   * Starts the proxy of a Gateway in `apps` and waits until it is ready and gets traffic; its admin
   * port is `first`.
   */
  async startProxy(gateway: string, first = this.take(3), xds?: number) {
    await this.deployed(gateway)
    const running = await this.programs.startProxy(
      gateway,
      await this.programs.tokenFor(gateway),
      first,
      xds,
    )
    const isReady = () => this.programs.isReady(first)
    await eventually(isReady, `the proxy of ${gateway}`, PROXY_START).catch((error) => {
      const said = this.controller?.output().slice(-6000)
      throw new Error(`${error.message}\n${running.output()}\n${said}`)
    })
    await this.programs.addEndpoint(gateway, first)
    return { ...running, first }
  }

  /**
   * Waits for the expected conditions of an object and returns them; of ancestors and parents,
   * those of the first.
   */
  async conditions(
    path: string,
    expected: Readonly<Record<string, string>>,
    seconds = 90,
  ): Promise<Readonly<Record<string, Condition>>> {
    let last: unknown
    return eventually(
      async () => {
        const { body } = await this.cluster.ask('GET', path)
        const { metadata, status = {} } = body as unknown as Seen
        last = status
        const all =
          status.ancestors?.[0]?.conditions ??
          status.parents?.[0]?.conditions ??
          status.conditions ??
          []
        const found = Object.fromEntries(all.map((one) => [one.type, one]))
        const isThere = Object.entries(expected).every(([type, value]) => {
          const one = found[type]
          return (
            one !== undefined &&
            `${one.status} ${one.reason}` === value &&
            one.observedGeneration === metadata.generation
          )
        })
        return isThere ? found : undefined
      },
      `${JSON.stringify(expected)} of ${path}`,
      seconds,
    ).catch((error) => {
      throw new Error(`${error.message}: ${JSON.stringify(last)}`)
    })
  }
}

/** Installs the definitions, the chart and the namespaces `apps` and `shop`; starts no programs. */
export async function startPlane(options: {
  readonly ports: number
  readonly values?: object
  readonly audit?: boolean
}): Promise<Plane> {
  const { ports, values = {}, audit = false } = options
  const cluster = await startCluster({ audit })
  try {
    for (const name of ['apps', 'shop', SYSTEM]) cluster.createNamespace(name)
    const definitions = join(chartFolder('portcullis-crds'), 'templates')
    const files = [definitions, ...gatewayApiDefinitions('experimental')]
    cluster.kubectl(['apply', '--server-side', ...files.flatMap((file) => ['-f', file])])
    const chart = chartFolder('portcullis')
    cluster.helm(['install', 'portcullis', chart, '--namespace', SYSTEM], values)
    bringCertificate(cluster)
    const [first = 0] = await freePorts(ports)
    return new Plane(cluster, { first, count: ports })
  } catch (error) {
    await cluster.close()
    throw error
  }
}

/** Installs a certificate as a user may: no resolver here knows the names of Services. */
export function bringCertificate(cluster: Cluster): void {
  const validity = { from: Date.now() - 60_000, to: Date.now() + 24 * 3_600_000 }
  const authority = makeAuthority('test', validity)
  const serving = makeServingCertificate(authority, ['localhost'], validity)
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'portcullis-xds-cert', namespace: SYSTEM },
    stringData: { 'ca.crt': authority.cert, 'tls.crt': serving.cert, 'tls.key': serving.key },
  }
  cluster.kubectl(['apply', '--server-side', '-f', '-'], JSON.stringify(secret))
}
