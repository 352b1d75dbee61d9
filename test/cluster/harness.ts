import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { parse } from 'yaml'
import type { KubernetesObject } from '../charts/helm.ts'
import { freePorts } from '../free-port.ts'

const FOLDER = import.meta.dirname
const ROOT = join(FOLDER, '../..')

export interface ClusterOptions {
  /** With a node, on which pods run; requires root. */
  readonly node?: boolean
  /** Archives of images that are loaded on the node. */
  readonly images?: readonly string[]
  /** The API server logs all requests; see `Cluster.audited`. */
  readonly audit?: boolean
}

/** One request, as the API server logged it. */
export interface AuditEvent {
  readonly verb: string
  readonly user: { readonly username: string }
  readonly objectRef?: {
    readonly apiGroup?: string
    readonly resource: string
    readonly subresource?: string
    readonly namespace?: string
    readonly name?: string
  }
  readonly responseStatus?: { readonly code?: number }
}

/** A response of the API server. */
export interface ApiResponse {
  readonly status: number
  readonly body: KubernetesObject & { readonly message?: string }
}

/** The reason why this machine cannot run a cluster; undefined if it can. */
export function missing({ node = false }: ClusterOptions = {}): string | undefined {
  const nodeNeeds = node ? ['cc', 'ip', 'nsenter', 'unshare'] : []
  for (const program of ['go', 'curl', 'openssl', 'dpkg-deb', ...nodeNeeds]) {
    const { status } = spawnSync('sh', ['-c', `command -v ${program}`])
    if (status !== 0) return `a cluster is made with ${program}, which is not here`
  }
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'a cluster needs Linux on x64'
  if (!node) return undefined
  const mayDivide = spawnSync('unshare', ['--net', '--mount', 'true']).status === 0
  return mayDivide ? undefined : 'a node needs root, and to make namespaces'
}

/** Starts a Kubernetes cluster of our own; missing components are built first. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  await run('prepare.sh', options.node ? [] : ['helm', 'debian', 'kubernetes'], {})
  const environment = options.node ? { NODE: '1' } : await ownPlace()
  const { images = [], audit = false } = options
  const more = { CLUSTER_IMAGES: images.join(' '), ...(audit && { CLUSTER_AUDIT: '1' }) }
  const kubeconfig = await run('up.sh', [], { ...environment, ...more })
  return new Cluster(kubeconfig.trim().split('\n').at(-1) as string, environment)
}

/** Reserves ports and a folder for a control plane, so that several can run. */
async function ownPlace(): Promise<Readonly<Record<string, string>>> {
  const [[api], [etcd]] = [await freePorts(3), await freePorts(2)]
  const CLUSTER_STATE = `/tmp/portcullis-plane-${process.pid}`
  return { CLUSTER_STATE, API_PORT: String(api), ETCD_PORT: String(etcd) }
}

function run(script: string, args: readonly string[], environment: object): Promise<string> {
  return call(join(FOLDER, script), args, { ...process.env, ...environment })
}

function call(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  input = '',
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env })
    let out = ''
    let err = ''
    child.stdout.on('data', (chunk) => (out += chunk))
    child.stderr.on('data', (chunk) => (err += chunk))
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) resolve(out)
      else reject(new Error(`${program} ${args.join(' ')}: ${err}`))
    })
    child.stdin.end(input)
  })
}

export class Cluster {
  readonly kubeconfig: string
  readonly #environment: Readonly<Record<string, string>>
  readonly #server: URL
  readonly #tls: { readonly ca: Buffer; readonly cert: Buffer; readonly key: Buffer }

  constructor(kubeconfig: string, environment: Readonly<Record<string, string>>) {
    this.kubeconfig = kubeconfig
    this.#environment = environment
    const { clusters, users } = parse(readFileSync(kubeconfig, 'utf8'))
    const { server, 'certificate-authority-data': ca } = clusters[0].cluster
    const { 'client-certificate-data': cert, 'client-key-data': key } = users[0].user
    const decode = (text: string) => Buffer.from(text, 'base64')
    this.#server = new URL(server)
    this.#tls = { ca: decode(ca), cert: decode(cert), key: decode(key) }
  }

  /** The port of the API server. */
  get port(): number {
    return Number(this.#server.port)
  }

  /** The response of the API server, whatever its status. */
  ask(
    method: string,
    path: string,
    body?: unknown,
    contentType = 'application/json',
  ): Promise<ApiResponse> {
    return new Promise((resolve, reject) => {
      const headers = body === undefined ? {} : { 'content-type': contentType }
      const { hostname, port } = this.#server
      const sent = request({ ...this.#tls, hostname, port, method, path, headers }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk) => (text += chunk))
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, body: parseJson(text) })
        })
      })
      sent.on('error', reject)
      sent.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }

  kubectl(args: readonly string[], input?: string): string {
    return this.#call('kubectl', args, input)
  }

  /** Waits until objects of a definition can be created; `kubectl wait` fails if it is brand-new. */
  async established(definition: string): Promise<void> {
    const path = '{.status.conditions[?(@.type=="Established")].status}'
    const args = ['get', 'crd', definition, '-o', `jsonpath=${path}`]
    const isTrue = async () => {
      const text = await this.kubectlBeside(args).catch(() => '')
      return text === 'True' ? true : undefined
    }
    await eventually(isTrue, `the established definition ${definition}`)
  }

  /** Like `kubectl`, but asynchronous. */
  kubectlBeside(args: readonly string[]): Promise<string> {
    return call(this.#program('kubectl'), args, this.#variables())
  }

  helm(args: readonly string[], values?: object): string {
    if (values === undefined) return this.#call('helm', args)
    return this.#call('helm', [...args, '--values', '-'], JSON.stringify(values))
  }

  /** Like `helm`, but asynchronous. */
  helmBeside(args: readonly string[], values: object): Promise<string> {
    const [file, env] = [this.#program('helm'), this.#variables()]
    return call(file, [...args, '--values', '-'], env, JSON.stringify(values))
  }

  /** Creates a namespace for a test. */
  createNamespace(name: string): string {
    this.kubectl(['create', 'namespace', name])
    return name
  }

  /** Sends all objects as a dry run; the API server validates every one of them. */
  dryRun(objects: readonly object[]): string {
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })
    const args = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-']
    return this.kubectl(args, list)
  }

  /** The address that a Service of type LoadBalancer got. */
  async balancerAddress(namespace: string, name: string): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/services/${name}`
    const found = await eventually(async () => {
      const { body } = await this.ask('GET', path)
      const { loadBalancer } = (body['status'] ?? {}) as BalancerStatus
      return loadBalancer?.ingress?.[0]?.ip
    }, `an address of ${name}`)
    return found
  }

  /** The requests of a user so far, if the cluster was started with `audit`. */
  audited(username: string): readonly AuditEvent[] {
    const lines = readFileSync(join(dirname(this.kubeconfig), 'audit.log'), 'utf8').split('\n')
    // The last line may be incomplete.
    return lines
      .slice(0, -1)
      .map((line) => JSON.parse(line) as AuditEvent)
      .filter(({ user }) => user.username === username)
  }

  /**
   * Kills the API server and starts another one in its place, which has the objects but not their
   * history: a watch that resumes from an earlier version may be too old for it (410).
   */
  async restartApiServer(): Promise<void> {
    const state = dirname(this.kubeconfig)
    const file = join(state, 'pid/kube-apiserver')
    const pid = Number(readFileSync(file, 'utf8'))
    const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(1, -1)
    process.kill(pid, 'SIGKILL')
    // While the old one has the port, the new one would exit at once.
    const isGone = async () => !(await isTaken(this.port)) || undefined
    await eventually(isGone, 'the end of the API server', 30)
    for (let attempt = 1; ; attempt++) {
      const log = openSync(join(state, 'log/kube-apiserver.log'), 'a')
      const other = spawn(this.#program('kube-apiserver'), args, {
        detached: true,
        stdio: ['ignore', log, log],
      })
      closeSync(log)
      other.unref()
      writeFileSync(file, `${other.pid}\n`)
      const isReady = async () => {
        if (other.exitCode !== null) return 'ended' as const
        const found = await this.ask('GET', '/readyz').catch(() => undefined)
        return found?.status === 200 ? ('ready' as const) : undefined
      }
      if ((await eventually(isReady, 'the API server again', 120)) === 'ready') return
      assert.ok(attempt < 5, 'the API server does not start again')
    }
  }

  logs(namespace: string, deployment: string): string {
    return this.kubectl([
      '-n',
      namespace,
      'logs',
      `deployment/${deployment}`,
      '--all-pods',
      '--tail=200',
    ])
  }

  async close(): Promise<void> {
    await run('down.sh', [], this.#environment)
  }

  #call(program: string, args: readonly string[], input?: string): string {
    const { status, stdout, stderr } = spawnSync(this.#program(program), args, {
      encoding: 'utf8',
      env: this.#variables(),
      input,
    })
    assert.equal(status, 0, `${program} ${args.join(' ')}: ${stderr}`)
    return stdout
  }

  #program(name: string): string {
    return join(ROOT, '.cache/cluster/bin', name)
  }

  #variables(): NodeJS.ProcessEnv {
    return { ...process.env, KUBECONFIG: this.kubeconfig }
  }
}

interface BalancerStatus {
  readonly loadBalancer?: { readonly ingress?: readonly { readonly ip?: string }[] }
}

/** Some responses of the API server are plain text. */
function parseJson(text: string): ApiResponse['body'] {
  try {
    return JSON.parse(text)
  } catch {
    return { message: text } as never
  }
}

/** Waits until `look` returns a value; at most a minute by default. */
export async function eventually<T>(
  look: () => Promise<T | undefined>,
  what: string,
  seconds = 60,
): Promise<T> {
  const end = Date.now() + seconds * 1000
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    assert.ok(Date.now() < end, `there was not ${what} in ${seconds} s`)
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

/** Whether something listens on the port. */
function isTaken(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const report = (found: boolean) => {
      socket.destroy()
      resolve(found)
    }
    socket.once('connect', () => report(true)).once('error', () => report(false))
  })
}
