import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { availableParallelism } from 'node:os'

/** The proxy under test has its own core; load and backend share the other. */
const CORES = { proxy: '0', load: '1' } as const
type Core = keyof typeof CORES

/** Seconds per clock tick in /proc: fixed for user space, independent of the kernel's own tick. */
const TICK = 0.01

/** False if there is only one core or nothing can be pinned; ratios then mean little. */
export const isPinned =
  availableParallelism() >= 2 && spawnSync('taskset', ['--version']).status === 0

const running = new Set<ChildProcess>()

// Stops all started processes when the bench exits; not by SIGKILL, so that nginx can stop its
// own child.
process.once('exit', () => {
  for (const child of running) child.kill('SIGTERM')
})

export interface Started {
  readonly pid: number
  readonly child: ChildProcess
  /** The output to stdout and stderr so far. */
  readonly output: () => string
}

export function start(core: Core, program: string, args: readonly string[]): Started {
  const [file, all] = isPinned
    ? ['taskset', ['-c', CORES[core], program, ...args]]
    : [program, [...args]]
  const child = spawn(file, all, { stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  child.once('error', () => running.delete(child))
  return { pid: child.pid ?? 0, child, output: () => text }
}

/** Runs a program to completion and returns its output. */
export async function runToEnd(core: Core, program: string, args: readonly string[]) {
  const started = start(core, program, args)
  const [code] = await once(started.child, 'close')
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${started.output().trim()}`)
  return started.output()
}

export async function stop({ child }: Started): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const insisting = setTimeout(() => child.kill('SIGKILL'), 3_000)
  await ended
  clearTimeout(insisting)
}

export async function stopAll(): Promise<void> {
  await Promise.all([...running].map((child) => stop({ child, pid: 0, output: () => '' })))
}

/** CPU seconds of all threads. */
export interface Cpu {
  readonly user: number
  readonly kernel: number
}

/** CPU time that a process and its descendants have used so far. */
export function cpuOf(pid: number): Cpu {
  let user = 0
  let kernel = 0
  for (const each of familyOf(pid)) {
    const fields = statOf(each)
    user += Number(fields?.[11] ?? 0) * TICK
    kernel += Number(fields?.[12] ?? 0) * TICK
  }
  return { user, kernel }
}

/** Times of all cores, in ticks since boot. */
export interface MachineTime {
  readonly total: number
  readonly idle: number
  /** Time that the hypervisor gave to other guests. */
  readonly steal: number
}

export function machineTime(): MachineTime {
  const line = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0] ?? ''
  const ticks = line.split(/ +/).slice(1, 9).map(Number)
  const total = ticks.reduce((sum, each) => sum + each, 0)
  return { total, idle: ticks[3] ?? 0, steal: ticks[7] ?? 0 }
}

/** Resident memory of a process and its descendants, in MB (10⁶ bytes). */
export function residentOf(pid: number): number {
  let kib = 0
  for (const each of familyOf(pid)) {
    const status = readFileSync(`/proc/${each}/status`, 'utf8')
    kib += Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0)
  }
  return (kib * 1024) / 1e6
}

/** The process and its descendants, itself first; nginx, for one, serves from a child. */
export function familyOf(pid: number): readonly number[] {
  const family = [pid]
  const parents = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => [Number(name), Number(statOf(Number(name))?.[1])] as const)
  for (const parent of family) {
    for (const [child, of] of parents) if (of === parent) family.push(child)
  }
  return family
}

/** The fields after the name, which may contain spaces: state, parent, … */
function statOf(pid: number): readonly string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined // The process has exited meanwhile.
  }
}

/** Distinct loopback ports that are free now. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as { port: number }).port)
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return ports
}

export const pause = (milliseconds: number): Promise<void> =>
  new Promise((done) => setTimeout(done, milliseconds))
