import assert from 'node:assert/strict'
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PORTCULLIS, PORTCULLIS_SOURCES } from '../programs.ts'
import { free } from './accepting.ts'
import { seriesValue, until } from './whole-gateway.ts'

/** The program in its own process with its own file. */
export interface Running {
  readonly child: ChildProcess
  readonly pid: number
  readonly out: () => string
  readonly ports: { readonly admin: number; readonly stats: number; readonly ready: number }
  /** Writes the file; the process applies it automatically. */
  readonly write: (text: string) => void
  /** Writes the file, and waits until it is applied. */
  readonly reload: (text: string) => Promise<void>
  readonly metrics: () => Promise<string>
  /** The value of one series; 0 if there is none. */
  readonly metric: (series: string) => Promise<number>
  /** The sum over all series of a name. */
  readonly total: (name: string) => Promise<number>
  readonly status: (path: string) => Promise<number>
  /** The number of open descriptors of the process. */
  readonly descriptors: () => number
  /** Bytes of resident memory. */
  readonly resident: () => number
  readonly stop: () => Promise<void>
}

export interface RunningOptions {
  readonly workers?: number
  /** Additional lines of `config`, indented by two. */
  readonly config?: string
  /** Additional arguments. */
  readonly args?: readonly string[]
  /** The limit of file descriptors. */
  readonly descriptors?: number
  /** Node flags. */
  readonly flags?: readonly string[]
  /** A file that each of its processes loads first, to change modules of the program. */
  readonly preload?: string
  readonly environment?: Readonly<Record<string, string>>
}

const APPLIED = 'portcullis_config_reloads_total{outcome="applied"}'

/** Starts the program with `text` after the generated `config`, and waits until it is ready. */
export async function startRunning(text: string, options: RunningOptions = {}): Promise<Running> {
  const { workers = 1, config = '', args = [], descriptors, flags = [], preload } = options
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
  const file = join(folder, 'gateway.yaml')
  const [admin, stats, ready] = await Promise.all([free(), free(), free()])
  const head = `config:
  workers: ${workers}
  adminAddr: 127.0.0.1:${admin}
  statsAddr: 127.0.0.1:${stats}
  readinessAddr: 127.0.0.1:${ready}
  logging: { format: json }
${config}`
  const write = (own: string) => writeFileSync(file, `${head}${own}`)
  write(text)
  const program = preload === undefined ? PORTCULLIS : PORTCULLIS_SOURCES
  const command = [process.execPath, ...flags, program, 'run', '-f', file, ...args]
  const env = {
    ...process.env,
    ...options.environment,
    ...(preload === undefined ? {} : { NODE_OPTIONS: `--import=${preload}` }),
  }
  const spawned: SpawnOptions = { stdio: ['ignore', 'pipe', 'pipe'], env }
  const child =
    descriptors === undefined
      ? spawn(command[0] as string, command.slice(1), spawned)
      : spawn('/bin/sh', ['-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh', ...command], spawned)
  let out = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (bytes) => {
      out = `${out}${bytes}`.slice(-4_000_000)
    })
  }
  const exit = new Promise<number | null>((resolve) => child.on('exit', resolve))
  const ask = (port: number, path: string) => fetch(`http://127.0.0.1:${port}${path}`)
  const status = (path: string) =>
    ask(ready, path).then(
      async (response) => {
        await response.text()
        return response.status
      },
      () => 0,
    )
  await until(
    'readiness',
    async () => {
      if (child.exitCode !== null) assert.fail(out)
      return (await status('/healthz/ready')) === 200
    },
    120,
  ).catch((error: unknown) => {
    // The child would keep the test process alive.
    child.kill('SIGKILL')
    throw error
  })
  const metrics = () => ask(stats, '/metrics').then((response) => response.text())
  const metric = async (series: string) => seriesValue(await metrics(), series)
  const pid = child.pid as number
  return {
    child,
    pid,
    out: () => out,
    ports: { admin, stats, ready },
    write,
    reload: async (own) => {
      const before = await metric(APPLIED)
      write(own)
      await until('the reload', async () => (await metric(APPLIED)) > before)
    },
    metrics,
    metric,
    total: async (name) => sumOf(await metrics(), name),
    status,
    descriptors: () => readdirSync(`/proc/${pid}/fd`).length,
    resident: () => residentOf(pid),
    stop: async () => {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), 20_000)
      await exit
      clearTimeout(timer)
      rmSync(folder, { recursive: true })
    },
  }
}

export function sumOf(exposition: string, name: string): number {
  return exposition
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

function residentOf(pid: number): number {
  const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(found?.[1]) * 1024
}

/** The records of the access log; skips incomplete lines. */
export function recordsIn(out: string): readonly Readonly<Record<string, unknown>>[] {
  return out.split('\n').flatMap((line) => {
    if (!line.startsWith('{') || !line.endsWith('}')) return []
    return [JSON.parse(line) as Record<string, unknown>]
  })
}
