import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, until } from '../cli/running.ts'
import { PORTCULLIS } from '../programs.ts'

/** A gateway process with its UI, and a backend that echoes each request. */
export interface UiGateway {
  /** `http://127.0.0.1:…/ui/` */
  readonly ui: string
  readonly admin: string
  /** The origin of the gateway itself. */
  readonly origin: string
  readonly file: string
  readonly pid: number
  readonly get: (path: string, headers?: Readonly<Record<string, string>>) => Promise<number>
  /** The output of the process. */
  readonly out: () => string
  readonly stop: () => Promise<void>
}

export interface UiGatewayOptions {
  /** The URL of a PostgreSQL database; if absent, the gateway is read-only. */
  readonly database?: string
  /** `gateways` and all that follows; PORT and BACKEND are replaced. */
  readonly text?: string
  /** More settings of `config`, indented by two spaces. */
  readonly config?: string
  readonly host?: string
  /** Further environment variables. */
  readonly env?: Readonly<Record<string, string>>
}

/** `gateways` and all that follows: an open route and a route with rules. */
export const ROUTES = `gateways:
  default: { port: PORT }
routes:
- name: public
  matches: [{ path: { pathPrefix: /public } }]
  backends: [{ backend: example }]
- name: api
  matches: [{ path: { pathPrefix: / } }]
  policies:
    authorization:
      rules:
      - deny: request.path.startsWith('/admin')
      - require: request.method in ['GET', 'HEAD']
      - allow: request.headers['x-team'] == 'eng'
      - allow: cidr('10.0.0.0/8').containsIP(source.address)
  backends: [{ backend: example }]
backends:
- { name: example, host: 127.0.0.1:BACKEND }
`

export async function startUiGateway(options: UiGatewayOptions = {}): Promise<UiGateway> {
  const { database, text = ROUTES, config = '', host = '127.0.0.1', env = {} } = options
  const backend = await startBackend()
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-ui-'))
  const file = join(folder, 'gateway.yaml')
  const [port, admin, stats, ready] = await Promise.all([1, 2, 3, 4].map(() => freePort()))
  const stored =
    database === undefined
      ? ''
      : `  storage: { mode: database }\n  database: ${JSON.stringify({ url: database })}\n`
  const own = (backend.address() as AddressInfo).port
  writeFileSync(
    file,
    `config:
  workers: 1
  adminAddr: ${host}:${admin}
  statsAddr: 127.0.0.1:${stats}
  readinessAddr: 127.0.0.1:${ready}
${stored}${config}${text.replaceAll('PORT', String(port)).replaceAll('BACKEND', String(own))}`,
  )
  let out = ''
  const child = spawn(process.execPath, [PORTCULLIS, 'run', '-f', file], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], ...env },
  })
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (out += bytes))
  const isReady = () =>
    fetch(`http://127.0.0.1:${ready}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  try {
    await until('the gateway is ready', isReady)
  } catch (error) {
    await end(child)
    backend.close()
    throw new Error(`${(error as Error).message}\n${out}`)
  }
  return {
    ui: `http://127.0.0.1:${admin}/ui/`,
    admin: `http://127.0.0.1:${admin}`,
    origin: `http://127.0.0.1:${port}`,
    file,
    pid: child.pid as number,
    out: () => out,
    get: async (path, headers = {}) => {
      const reply = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
      await reply.text()
      return reply.status
    },
    stop: async () => {
      await end(child)
      backend.close()
      backend.closeAllConnections()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function startBackend(): Promise<Server> {
  const server = createServer((request, response) => response.end(`${request.url}`))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

function end(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once('exit', () => resolve())
    child.kill('SIGKILL')
  })
}
