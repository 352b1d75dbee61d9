import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { CONTROLLER, PORTCULLIS } from '../programs.ts'
import { type Cluster, eventually } from './harness.ts'

/** The namespace of the chart. */
export const SYSTEM = 'portcullis-system'

export interface Running {
  readonly child: ChildProcess
  /** The output of the program, or the end of it. */
  readonly output: () => string
}

export interface ControllerStart {
  /** The name of its pod. */
  readonly name?: string
  /** The first of three. */
  readonly port?: number
  readonly env?: Readonly<Record<string, string>>
  /** A local port that forwards to the API server. */
  readonly apiServer?: number
}

/** The controller and proxies of a cluster without nodes, as processes of this machine. */
export class Programs {
  readonly #cluster: Cluster
  readonly #folder = mkdtempSync(join(tmpdir(), 'portcullis-delivery-'))
  readonly #children = new Set<ChildProcess>()
  /** Gateway → the first ports of its proxies. */
  readonly #endpoints = new Map<string, Set<number>>()
  readonly #kubeconfig: string
  /** The first of three ports of the controller: xDS, health, metrics. */
  readonly #port: number

  /** The chart must be installed: the controller uses its account. */
  constructor(cluster: Cluster, port: number) {
    this.#cluster = cluster
    this.#port = port
    const config = parse(readFileSync(cluster.kubeconfig, 'utf8'))
    const token = cluster.kubectl(['-n', SYSTEM, 'create', 'token', 'portcullis']).trim()
    config.users[0].user = { token }
    this.#kubeconfig = this.#write('kubeconfig', stringify(config))
  }

  async close(): Promise<void> {
    await Promise.all([...this.#children].map((child) => this.stop({ child }, 'SIGKILL')))
    rmSync(this.#folder, { recursive: true })
  }

  async stop({ child }: Pick<Running, 'child'>, signal: NodeJS.Signals): Promise<void> {
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }

  /** With exactly the permissions that the chart grants. */
  async startController(options: ControllerStart = {}): Promise<Running> {
    const { name = 'controller', port = this.#port, env = {}, apiServer } = options
    const running = this.#start([CONTROLLER], {
      ...env,
      KUBECONFIG: apiServer === undefined ? this.#kubeconfig : this.#leadingTo(apiServer, name),
      POD_NAME: name,
      POD_NAMESPACE: SYSTEM,
      PORTCULLIS_LOG_LEVEL: 'debug',
      PORTCULLIS_MODELS_ENABLED: 'true',
      PORTCULLIS_XDS_PORT: String(port),
      PORTCULLIS_HEALTH_PORT: String(port + 1),
      PORTCULLIS_METRICS_PORT: String(port + 2),
    })
    const ready = () => isOk(`http://127.0.0.1:${port + 1}/readyz`)
    await eventually(ready, 'a ready controller', 120).catch((error) => {
      throw new Error(`${error.message}\n${running.output()}`)
    })
    return running
  }

  /** The same credentials, through another local port. */
  #leadingTo(port: number, name: string): string {
    const config = parse(readFileSync(this.#kubeconfig, 'utf8'))
    config.clusters[0].cluster.server = `https://127.0.0.1:${port}`
    return this.#write(`kubeconfig-${name}`, stringify(config))
  }

  metrics(): Promise<string> {
    return fetch(`http://127.0.0.1:${this.#port + 2}/metrics`).then((found) => found.text())
  }

  /** A token of a service account, by default in the namespace `apps`. */
  async tokenFor(account: string, audience = 'portcullis', namespace = 'apps'): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`
    const { status, body } = await this.#cluster.ask('POST', path, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { audiences: [audience] },
    })
    assert.equal(status, 201, JSON.stringify(body))
    return (body['status'] as { readonly token: string }).token
  }

  /** Without nodes, nothing else says which proxies get traffic of a Gateway in `apps`. */
  async addEndpoint(gateway: string, first: number): Promise<void> {
    const all = this.#endpoints.get(gateway) ?? new Set()
    this.#endpoints.set(gateway, all.add(first))
    const name = `${gateway}-proxies`
    const slice = {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name, labels: { 'kubernetes.io/service-name': gateway } },
      addressType: 'IPv4',
      ports: [],
      endpoints: [...all].map((one, n) => ({
        addresses: [`192.0.2.${n + 1}`],
        conditions: { ready: true },
        targetRef: { kind: 'Pod', name: podOf(one), namespace: 'apps' },
      })),
    }
    const folder = '/apis/discovery.k8s.io/v1/namespaces/apps/endpointslices'
    const { status, body } = await this.#cluster.ask(
      'PATCH',
      `${folder}/${name}?fieldManager=tests&force=true`,
      slice,
      'application/apply-patch+yaml',
    )
    assert.ok(status < 300, JSON.stringify(body))
  }

  /** As the Deployment of its Gateway in `apps` would start it; it uses three ports. */
  async startProxy(
    gateway: string,
    token: string,
    first: number,
    xds = this.#port,
  ): Promise<Running> {
    const own = `${gateway}-${first}`
    const config = parse(await this.#dataOf('configmaps', gateway, 'config.yaml'))
    Object.assign(config.config, {
      // Several proxies of a Gateway share its ports here, as workers do.
      workers: 2,
      adminAddr: `127.0.0.1:${first}`,
      statsAddr: `127.0.0.1:${first + 1}`,
      readinessAddr: `127.0.0.1:${first + 2}`,
    })
    const file = this.#write(`${own}-config.yaml`, stringify(config))
    const ca = await this.#dataOf('configmaps', `${gateway}-xds-ca`, 'ca.crt')
    const key = await this.#dataOf('secrets', `${gateway}-session-key`, 'key')
    return this.#start([PORTCULLIS, 'run', '--file', file], {
      POD_NAME: podOf(first),
      PORTCULLIS_XDS_ADDRESS: `https://localhost:${xds}`,
      PORTCULLIS_XDS_CA: this.#write(`${own}-ca.crt`, ca),
      PORTCULLIS_XDS_TOKEN: this.#write(`${own}-token`, token),
      PORTCULLIS_XDS_STATE: this.#stateFile(own),
      SESSION_KEY: Buffer.from(key, 'base64').toString(),
    })
  }

  isReady(first: number): Promise<true | undefined> {
    return isOk(`http://127.0.0.1:${first + 2}/healthz/ready`)
  }

  /** The whole configuration that a proxy received, as text; undefined before the first one. */
  stateOf(gateway: string, first: number): string | undefined {
    let text: string
    try {
      text = readFileSync(this.#stateFile(`${gateway}-${first}`), 'utf8')
    } catch {
      return undefined
    }
    const lines = text.split('\n').filter((line) => line.startsWith('['))
    return lines
      .map((line) => JSON.parse(line) as readonly string[])
      .map(([name, , bytes]) => `${name} ${Buffer.from(bytes ?? '', 'base64')}`)
      .join('\n')
  }

  #stateFile(own: string): string {
    return join(this.#folder, `${own}-state.json`)
  }

  async #dataOf(plural: string, name: string, key: string): Promise<string> {
    const { body } = await this.#cluster.ask('GET', `/api/v1/namespaces/apps/${plural}/${name}`)
    return (body['data'] as Readonly<Record<string, string>>)[key] ?? ''
  }

  #write(name: string, text: string): string {
    const path = join(this.#folder, name)
    writeFileSync(path, text)
    return path
  }

  #start(args: readonly string[], env: Readonly<Record<string, string>>): Running {
    const child = spawn(process.execPath, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        text = `${text}${chunk}`.slice(-100_000)
      })
    }
    this.#children.add(child)
    child.once('exit', () => this.#children.delete(child))
    return { child, output: () => text }
  }
}

function podOf(first: number): string {
  return `proxy-${first}`
}

function isOk(url: string): Promise<true | undefined> {
  return fetch(url).then(
    ({ ok }) => ok || undefined,
    () => undefined,
  )
}
