import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, until } from '../cli/running.ts'
import { PORTCULLIS } from '../programs.ts'

/** A gateway with a database, as a separate process. */
export interface StoredGateway {
  readonly child: ChildProcess
  readonly port: number
  readonly admin: string
  readonly file: string
  readonly out: () => string
  readonly ready: () => Promise<string>
  readonly api: (method: string, path: string, body?: unknown, more?: object) => Promise<Reply>
  readonly metrics: () => Promise<string>
  /** The status of a request to the gateway; 0: nothing listens. */
  readonly get: (path: string) => Promise<number>
  readonly restart: () => Promise<void>
  readonly kill: (signal: NodeJS.Signals) => Promise<void>
  readonly remove: () => Promise<void>
}

export interface Reply {
  readonly status: number
  readonly etag: string | null
  readonly text: string
  readonly json: Readonly<Record<string, unknown>>
}

export interface GatewayOptions {
  readonly environment?: Readonly<Record<string, string>>
  readonly stateFile?: string
  readonly routes?: string
  /** If set, the start does not wait until the gateway is ready. */
  readonly isWaiting?: boolean
  /** More settings of `config`. */
  readonly config?: object
  readonly workers?: number
  /** The ports of the routes and of the admin API, for tests that need to know them in advance. */
  readonly port?: number
  readonly adminPort?: number
}

const ROUTES = `- name: home
  matches: [{ path: { exact: /home } }]
  policies: { directResponse: { status: 200, body: home } }
`

export async function startGateway(
  url: string | undefined,
  options: GatewayOptions = {},
): Promise<StoredGateway> {
  const { environment = {}, stateFile, routes = ROUTES, isWaiting = false, config = {} } = options
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-stored-'))
  const file = join(folder, 'gateway.yaml')
  const [own, free, stats, ready] = await Promise.all([1, 2, 3, 4].map(() => freePort()))
  const admin = options.adminPort ?? free
  const port = options.port ?? own
  const storage =
    url === undefined ? {} : { storage: { mode: 'database' }, database: { url, stateFile } }
  const more = Object.entries({ ...storage, ...config })
    .map(([key, value]) => `  ${key}: ${JSON.stringify(value)}`)
    .join('\n')
  writeFileSync(
    file,
    `config:
  workers: ${options.workers ?? 1}
  adminAddr: 127.0.0.1:${admin}
  statsAddr: 127.0.0.1:${stats}
  readinessAddr: 127.0.0.1:${ready}
${more}
gateways:
  default: { port: ${port} }
routes:
${routes}`,
  )
  let text = ''
  let child: ChildProcess
  const start = () => {
    child = spawn(process.execPath, [PORTCULLIS, 'run', '-f', file], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], ...environment },
    })
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (bytes) => (text += bytes))
    }
  }
  const readiness = () =>
    fetch(`http://127.0.0.1:${ready}/readyz`).then(
      async (reply) => `${reply.status} ${await reply.text()}`,
      () => '',
    )
  const kill = (signal: NodeJS.Signals) =>
    new Promise<void>((done) => {
      if (child.exitCode !== null || child.signalCode !== null) return done()
      child.once('exit', () => done())
      child.kill(signal)
    })
  start()
  const gateway: StoredGateway = {
    get child() {
      return child
    },
    port: port as number,
    admin: `http://127.0.0.1:${admin}`,
    file,
    out: () => text,
    ready: readiness,
    api: async (method, path, body, more = {}) => {
      const reply = await fetch(`http://127.0.0.1:${admin}/api${path}`, {
        method,
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...more,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(120_000),
      })
      const said = await reply.text()
      const isJson = /json/.test(reply.headers.get('content-type') ?? '')
      const etag = reply.headers.get('etag')
      return { status: reply.status, etag, text: said, json: isJson ? JSON.parse(said) : {} }
    },
    metrics: async () => (await fetch(`http://127.0.0.1:${stats}/metrics`)).text(),
    get: (path) =>
      fetch(`http://127.0.0.1:${port}${path}`).then(
        async (reply) => {
          await reply.text()
          return reply.status
        },
        () => 0,
      ),
    restart: async () => {
      await kill('SIGKILL')
      start()
    },
    kill,
    remove: async () => {
      await kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
  if (!isWaiting) await until('it is ready', async () => (await readiness()).startsWith('200'))
  return gateway
}
