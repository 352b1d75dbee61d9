import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  backendConfiguration,
  envoyConfiguration,
  haproxyConfiguration,
  nginxConfiguration,
  ownConfiguration,
  type Place,
} from './configurations.ts'
import { type Found, findEnvoy, findProgram } from './find.ts'
import { familyOf, freePorts, pause, type Started, start } from './processes.ts'

export const ROOT = join(import.meta.dirname, '../..')
export const SOURCE = join(ROOT, 'bin/portcullis.ts')

/** Sizes in bytes of the bodies that the backend serves at /body/<bytes>. */
export const BODIES = [1024, 64 * 1024, 1024 * 1024] as const

/** A ten-byte message with its gRPC prefix: compressed flag 0, then the length. */
export const GRPC_MESSAGE: Buffer = Buffer.concat([
  Buffer.from([0, 0, 0, 0, 10]),
  Buffer.alloc(10, 'x'),
])

export interface Candidate {
  readonly name: string
  readonly isOwn: boolean
  readonly version: string
  readonly pid: number
  readonly port: number
  readonly tlsPort: number
}

export interface Field {
  readonly folder: string
  readonly backend: number
  readonly grpcBackend: number
  readonly certificate: string
  readonly key: string
  readonly proxies: readonly Candidate[]
  /** Messages about programs that are not installed. */
  readonly missing: readonly string[]
}

export interface FieldOptions {
  /** Programs of this gateway by display name. */
  readonly own?: ReadonlyMap<string, string>
  /** By default, all peers installed on this machine. */
  readonly peers?: readonly string[]
}

/** Starts the backend and every proxy installed on this machine. */
export async function openField(
  folder: string,
  { own: programs = new Map([['portcullis', SOURCE]]), peers }: FieldOptions = {},
): Promise<Field> {
  // nginx drops root privileges before it reads bodies.
  chmodSync(folder, 0o755)
  const certificate = join(folder, 'cert.pem')
  const key = join(folder, 'key.pem')
  makeCertificate(certificate, key)
  const missing: string[] = []
  const nginx = findProgram('nginx', '-v')
  const [backend = 0, grpcBackend = 0] = await freePorts(2)
  await startBackend(folder, backend, nginx, grpcBackend)

  const proxies: Candidate[] = []
  const add = async (
    name: Candidate['name'],
    found: Found | string,
    launch: (program: string, place: Place) => Started,
  ) => {
    const isOwn = programs.has(name)
    if (!isOwn && peers?.includes(name) === false) return
    if (typeof found === 'string') {
      missing.push(found)
      return
    }
    const [port = 0, tlsPort = 0] = await freePorts(2)
    const home = join(folder, name.replaceAll(/[^\w]+/g, '-'))
    const place = { folder: home, port, tlsPort, backend, grpcBackend, certificate, key }
    mkdirSync(place.folder)
    const started = launch(found.program, place)
    await reachable(port, started)
    if (isOwn) await settled(started.pid)
    proxies.push({ name, isOwn, version: found.version, pid: started.pid, port, tlsPort })
  }
  const own = { program: process.execPath, version: process.version }
  for (const [name, gateway] of programs) {
    await add(name, own, (program, place) => {
      const file = write(place, 'gateway.yaml', (of) => ownConfiguration(of))
      return start('proxy', program, [gateway, 'run', '-f', file])
    })
  }
  await add('nginx', nginx, (program, place) =>
    start('proxy', program, [
      '-p',
      place.folder,
      '-c',
      write(place, 'conf', (of) => nginxConfiguration(of)),
    ]),
  )
  await add('nginx, 64 KiB buffers', nginx, (program, place) =>
    start('proxy', program, [
      '-p',
      place.folder,
      '-c',
      write(place, 'conf', (of) => nginxConfiguration(of, true)),
    ]),
  )
  await add('HAProxy', findProgram('haproxy', '-v'), (program, place) => {
    const both = join(place.folder, 'both.pem')
    writeFileSync(both, readFileSync(certificate, 'utf8') + readFileSync(key, 'utf8'))
    const text = (of: Place) => haproxyConfiguration(of, both)
    return start('proxy', program, ['-db', '-f', write(place, 'haproxy.cfg', text)])
  })
  await add('Envoy', findEnvoy(), (program, place) => {
    const file = write(place, 'envoy.json', envoyConfiguration)
    const quiet = ['--log-level', 'error', '--disable-hot-restart']
    return start('proxy', program, ['-c', file, '--concurrency', '1', ...quiet])
  })
  return { folder, backend, grpcBackend, certificate, key, proxies, missing }
}

function write(place: Place, name: string, text: (place: Place) => string): string {
  const file = join(place.folder, name)
  writeFileSync(file, text(place))
  return file
}

function makeCertificate(certificate: string, key: string): void {
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const files = ['-keyout', key, '-out', certificate, '-days', '2', '-subj', '/CN=localhost']
  const { status, stderr } = spawnSync('openssl', ['req', '-x509', ...kind, ...files])
  if (status !== 0) throw new Error(`openssl made no certificate: ${stderr}`)
}

/** Starts the backend of all proxies. */
export async function startBackend(
  folder: string,
  port: number,
  nginx: Found | string,
  grpcPort?: number,
): Promise<void> {
  if (typeof nginx === 'string') {
    const program = fileURLToPath(import.meta.resolve('./raw-backend.ts'))
    await reachable(port, start('load', process.execPath, [program, String(port)]))
    return
  }
  const home = join(folder, 'backend')
  const bodies = join(home, 'www/body')
  mkdirSync(bodies, { recursive: true })
  for (const size of BODIES) writeFileSync(join(bodies, String(size)), Buffer.alloc(size, 'x'))
  writeFileSync(join(home, 'www/message'), GRPC_MESSAGE)
  const file = join(home, 'nginx.conf')
  writeFileSync(file, backendConfiguration(home, port, grpcPort))
  await reachable(port, start('load', nginx.program, ['-p', home, '-c', file]))
}

/** Waits until the port accepts connections; on failure, throws with the program's output. */
export async function reachable(port: number, started: Started, timeout = 60_000): Promise<void> {
  const until = performance.now() + timeout
  while (!(await takes(port))) {
    const { exitCode } = started.child
    if (exitCode !== null || performance.now() > until) {
      const end = exitCode === null ? 'does not listen' : `ended with ${exitCode}`
      throw new Error(`${started.child.spawnargs.join(' ')} ${end}: ${started.output().trim()}`)
    }
    await pause(5)
  }
}

/** Milliseconds after which a gateway has certainly started linting its configuration. */
const LINTS_AFTER = 4_000

/**
 * Waits until the gateway has linted its configuration. It does so in a low-priority process,
 * which gets CPU only while another proxy has its turn, and whose CPU time and memory would be
 * counted with the first loads.
 */
export async function settled(pid: number, timeout = 180_000): Promise<void> {
  const until = performance.now() + timeout
  await pause(LINTS_AFTER)
  while (familyOf(pid).length > 1 && performance.now() < until) await pause(100)
}

function takes(port: number): Promise<boolean> {
  return new Promise((response) => {
    const socket = connect(port, '127.0.0.1')
    const report = (isTaken: boolean) => {
      socket.destroy()
      response(isTaken)
    }
    socket.once('connect', () => report(true))
    socket.once('error', () => report(false))
  })
}
