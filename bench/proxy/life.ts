import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { figure } from '../measure.ts'
import type { Report, Target } from '../report.ts'
import { type OwnExtras, ownConfiguration, type Place } from './configurations.ts'
import { type Field, ROOT, SOURCE } from './contenders.ts'
import { steadyLoad } from './load.ts'
import { cpuOf, freePorts, pause, residentOf, type Started, start, stop } from './processes.ts'

const ROUTES = 5_000
const BUNDLE = join(ROOT, 'dist/portcullis.mjs')
const WATCHED_GATEWAY = fileURLToPath(import.meta.resolve('./watched-gateway.ts'))
/** Long enough for one-time work after the start to finish. */
const SETTLE = 1_500

/** Start, memory and reload of this gateway, run from source and from the release bundle. */
export async function benchLife(
  field: Field,
  bundle: string | undefined,
  rounds: number,
): Promise<Omit<Report, 'intro'>> {
  const programs = new Map([['source', SOURCE]])
  if (bundle !== undefined) programs.set('bundle', bundle)
  const lives = new Map<string, Life>()
  const contexts = new Map<string, LaunchContext>()
  for (const [name, program] of programs) {
    const context = await launchContextOf(field, name, program)
    contexts.set(name, context)
    lives.set(name, await live(context, rounds))
  }
  // Targets apply to the release bundle.
  const [name, life] = [...lives].at(-1) as [string, Life]
  const context = contexts.get(name) as LaunchContext
  const one = await reload(context, 1, rounds)
  const all = await reload(context, ROUTES, rounds)
  const some = ROUTES.toLocaleString('en-US')
  return {
    tables: [
      {
        title: 'Start and memory',
        columns: [
          'from',
          'ready',
          'CPU',
          'RSS idle',
          `ready, ${some} routes`,
          `CPU, ${some} routes`,
          `RSS, ${some} routes`,
        ],
        rows: [...lives].map(([from, { idle, full }]) => [
          from,
          ms(idle.ready),
          ms(idle.cpu),
          mb(idle.resident),
          ms(full.ready),
          ms(full.cpu),
          mb(full.resident),
        ]),
      },
      {
        title: `Reload of ${some} routes (${name})`,
        columns: [
          'change',
          'in effect after',
          'CPU until then',
          'longest turn, CPU',
          'longest stall',
          'longest without reload',
        ],
        rows: [
          ['one route', ...cellsOf(one)],
          ['all routes', ...cellsOf(all)],
        ],
      },
    ],
    targets: [
      under(`start to ready, ${name}`, 300, life.idle.ready, ms),
      under(`RSS idle, ${name}`, 90, life.idle.resident, mb),
      under(`RSS with ${some} routes, ${name}`, 150, life.full.resident, mb),
      under(`reload of ${some} routes, ${name}`, 500, all.effect, ms),
      under('longest turn of a reload, CPU', 50, all.turn, ms),
      under('longest stall of a reload', 50, all.stall, ms),
    ],
  }
}

/** Builds the release program. */
export function buildBundle(): string | undefined {
  const { status } = spawnSync(process.execPath, ['tools/release.ts'], { cwd: ROOT })
  return status === 0 && existsSync(BUNDLE) ? BUNDLE : undefined
}

interface LaunchContext {
  readonly program: string
  readonly place: Place
  readonly readiness: number
  readonly file: string
}

async function launchContextOf(
  field: Field,
  name: string,
  program: string,
): Promise<LaunchContext> {
  const [port = 0, tlsPort = 0, readiness = 0] = await freePorts(3)
  const { backend, grpcBackend, certificate, key } = field
  const folder = join(field.folder, `own-${name}`)
  mkdirSync(folder)
  const place = { folder, port, tlsPort, backend, grpcBackend, certificate, key }
  return { program, place, readiness, file: join(folder, 'gateway.yaml') }
}

interface Stage {
  /** Milliseconds from start to readiness, and CPU milliseconds of all threads in that time. */
  readonly ready: number
  readonly cpu: number
  /** MB */
  readonly resident: number
}

interface Life {
  readonly idle: Stage
  readonly full: Stage
}

async function live(context: LaunchContext, rounds: number): Promise<Life> {
  const idle = await stageOf(context, rounds, {})
  return { idle, full: await stageOf(context, 1, { routes: ROUTES }) }
}

async function stageOf(context: LaunchContext, rounds: number, extras: OwnExtras): Promise<Stage> {
  const times: number[] = []
  const costs: number[] = []
  let resident = Number.NaN
  writeNext(context, extras)
  takeNext(context)
  for (let round = 0; round < rounds; round++) {
    const { started, ready } = await launch(context)
    times.push(ready)
    costs.push(cpuMs(started))
    if (round === rounds - 1) {
      await pause(SETTLE)
      resident = residentOf(started.pid)
    }
    await stop(started)
  }
  return { ready: figure(times).median, cpu: figure(costs).median, resident }
}

function writeNext({ place, readiness, file }: LaunchContext, extras: OwnExtras): void {
  writeFileSync(`${file}.next`, ownConfiguration(place, { readiness, ...extras }))
}

/** Replaces the file by a rename, so that the gateway never reads a partial file. */
function takeNext({ file }: LaunchContext): void {
  renameSync(`${file}.next`, file)
}

async function launch(
  context: LaunchContext,
  around: readonly string[] = [],
): Promise<{ readonly started: Started; readonly ready: number }> {
  const before = performance.now()
  const args = [...around, context.program, 'run', '-f', context.file]
  const started = start('proxy', process.execPath, args)
  while (!(await isReady(context.readiness))) {
    if (started.child.exitCode !== null || performance.now() - before > 20_000) {
      throw new Error(`${context.program} is not ready: ${started.output().trim()}`)
    }
    await pause(2)
  }
  return { started, ready: performance.now() - before }
}

function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, path: '/healthz/ready', agent: false }
    get(options, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    }).once('error', () => resolve(false))
  })
}

/** Milliseconds. */
interface Reload {
  /** From the new file to the first response that reflects it. */
  readonly effect: number
  /** CPU time of all threads in that time. */
  readonly cpu: number
  /** Max CPU time that blocked the event loop: the lower bound of how long requests wait. */
  readonly turn: number
  /** The slowest response to a client that sends a request every 5 ms during the reload. */
  readonly stall: number
  /** The same without a reload. */
  readonly calm: number
}

const EVERY_5_MS = { perSecond: 200, connections: 8 }
const WATCHED = 3_000

async function reload(context: LaunchContext, routes: number, rounds: number): Promise<Reload> {
  const { port } = context.place
  writeNext(context, { routes: ROUTES })
  takeNext(context)
  const { started } = await launch(context, [WATCHED_GATEWAY])
  const found: Reload[] = []
  // The first reloads run cold code, as a user's do.
  for (let round = 0; round < rounds; round++) {
    const calm = await steadyLoad({ port, milliseconds: 1_000, ...EVERY_5_MS })
    const open = `/open-${round}`
    const mark = { text: `changed-${round}`, routes }
    writeNext(context, { routes: ROUTES, mark, open })
    const steady = steadyLoad({ port, milliseconds: WATCHED, ...EVERY_5_MS })
    // Without the header, only the new path responds with 200.
    const looking = steadyLoad({
      port,
      path: open,
      header: 'x-internal: false',
      milliseconds: WATCHED,
      untilFound: true,
      ...EVERY_5_MS,
    })
    await pause(750)
    await longestTurn(started)
    const changedAt = Date.now()
    const before = cpuMs(started)
    takeNext(context)
    const { foundAt } = await looking
    const cpu = cpuMs(started) - before
    const { longest } = await steady
    const effect = foundAt === 0 ? Number.NaN : foundAt - changedAt
    const turn = await longestTurn(started)
    found.push({ effect, cpu, turn, stall: longest, calm: calm.longest })
  }
  await stop(started)
  const median = (of: (reload: Reload) => number) => figure(found.map(of)).median
  return {
    effect: median(({ effect }) => effect),
    cpu: median(({ cpu }) => cpu),
    turn: median(({ turn }) => turn),
    stall: median(({ stall }) => stall),
    calm: median(({ calm }) => calm),
  }
}

/** Longest turn that ./watched-gateway.ts reports since the last query. */
async function longestTurn({ child, output }: Started): Promise<number> {
  const before = output().length
  child.kill('SIGUSR2')
  for (let waited = 0; waited < 2_000; waited += 20) {
    await pause(20)
    const found = /longest turn: ([\d.]+) ms/.exec(output().slice(before))?.[1]
    if (found !== undefined) return Number(found)
  }
  return Number.NaN
}

/** CPU milliseconds of all threads and processes of the gateway. */
function cpuMs({ pid }: Started): number {
  const { user, kernel } = cpuOf(pid)
  return (user + kernel) * 1_000
}

function cellsOf({ effect, cpu, turn, stall, calm }: Reload): readonly string[] {
  return [effect, cpu, turn, stall, calm].map(ms)
}

const ms = (value: number) => (Number.isNaN(value) ? 'too late' : `${value.toFixed(0)} ms`)
const mb = (value: number) => `${value.toFixed(0)} MB`

function under(
  what: string,
  max: number,
  measured: number,
  render: (value: number) => string,
): Target {
  return { what, wanted: `< ${render(max)}`, measured: render(measured), met: measured < max }
}
