import { Session } from 'node:inspector/promises'
import { unservable } from '../src/cli/check-model.ts'
import { success } from '../src/diagnostics/result.ts'
import { freezeModel } from '../src/model/freeze.ts'
import type { Model } from '../src/model/model.ts'
import { reconcile } from '../src/model/reconcile.ts'
import { runCooperatively, runToCompletion } from '../src/model/steps.ts'
import { versionOfModel } from '../src/model/version.ts'
import { Gateway } from '../src/proxy/gateway.ts'
import { KnownItems } from '../src/sources/file/known-items.ts'
import { loadText } from '../src/sources/file/load.ts'
import { createLogger } from '../src/telemetry/log.ts'
import { createMetrics } from '../src/telemetry/metrics.ts'
import { nanoseconds, type Report, type Table } from './report.ts'

/** V8 goes on with it in threads of its own for a while. */
async function collect(): Promise<void> {
  const session = new Session()
  session.connect()
  await session.post('HeapProfiler.collectGarbage')
  session.disconnect()
  await new Promise((resolve) => setTimeout(resolve, 100))
}

const ROUTES = 5_000
const ROUNDS = 40
/** The first ones meet code that is cold. */
const WARM = 10

/** How routes are told apart. */
const FORMS = [
  { name: '500 hosts', hostnames: (n: number) => [`app-${n % 500}.example.com`] },
  { name: 'one host', hostnames: () => [] },
] as const

/** What an edit does to the routes of a file, each as its text. */
type Edit = (routes: string[], at: number, round: number) => void

/** The others move lines, and with them all that follows in the file. */
const IN_PLACE = 'a path'

const EDITS: Readonly<Record<string, Edit>> = {
  [IN_PLACE]: (routes, at, round) => {
    routes[at] = routes[at]?.replace(/pathPrefix: .*/, `pathPrefix: /changed-${round}`) as string
  },
  'a rule more, which moves all below': (routes, at, round) => {
    const rule = `      - deny: request.path == '/secret-${round}'\n`
    routes[at] = routes[at]?.replace('      rules:\n', `      rules:\n${rule}`) as string
  },
  'a route more at the top': (routes, at, round) => {
    const more = routes[at]?.replace(/name: .*/, `name: more-${round}`) as string
    routes.unshift(more.replace(/pathPrefix: .*/, `pathPrefix: /more-${round}`))
  },
}

const PHASES = ['reading', 'comparing', 'checking', 'applying', 'hashing'] as const
type Phase = (typeof PHASES)[number]

/** CPU time of a change of one route among thousands, in a gateway that serves. */
export async function change(): Promise<Report> {
  const tables: Table[] = []
  const totals: number[] = []
  const rows: string[][] = []
  const names: string[] = []
  for (const form of FORMS) {
    for (const [name, edit] of Object.entries(EDITS)) {
      const times = await measure(form.hostnames, edit)
      const medians = PHASES.map((phase) => median(times.map((one) => one[phase])))
      const [, ...beyond] = medians
      const total = beyond.reduce((sum, own) => sum + own, 0)
      if (name === IN_PLACE) {
        names.push(form.name)
        totals.push(total)
      }
      rows.push([name, form.name, ...medians.map(nanoseconds), nanoseconds(total)])
    }
  }
  tables.push({
    title: 'CPU time of one changed route, by phase',
    columns: ['edit', 'routes by', ...PHASES, 'beyond reading'],
    rows,
  })
  return {
    intro: [
      `One of ${ROUTES.toLocaleString('en-US')} routes changes, each with a rule of its own. The file is read from`,
      'its first line to its last; routes that are the same on the same lines are not parsed again.',
      'Comparing finds what is the same in both Models. Medians of CPU time of the process, the first changes left',
      'out; RESULTS of `proxy` have the time until a changed file is in effect.',
    ],
    tables,
    targets: totals.map((total, index) => ({
      what: `one changed route, beyond reading, ${names[index]}`,
      wanted: '<= 5 ms',
      measured: nanoseconds(total),
      met: total <= 5e6,
    })),
  }
}

type Times = Record<Phase, number>

async function measure(
  hostnames: (n: number) => readonly string[],
  edit: Edit,
): Promise<readonly Times[]> {
  const file = '/bench/change.yaml'
  const routes = Array.from({ length: ROUTES }, (_, n) => route(n, hostnames(n)))
  const known = new KnownItems()
  const { model: first, settings } = load(configuration(routes), file, known)
  const gateway = new Gateway({
    settings,
    log: createLogger({ write: () => {}, format: 'text', level: 'error' }),
    metrics: createMetrics(),
    reusePort: false,
  })
  let served = first
  const times: Times[] = []
  runToCompletion(unservable(file, success(first, [])))
  await gateway.apply(first)
  runToCompletion(versionOfModel(first))
  for (let round = 0; round < ROUNDS; round++) {
    edit(routes, (round * 97) % ROUTES, round)
    const written = configuration(routes)
    const own: Partial<Times> = {}
    const { model: read } = await timed(own, 'reading', () => load(written, file, known))
    // What reading threw away is not charged to what comes after it.
    await collect()
    const model = await timed(own, 'comparing', () => runToCompletion(reconcile(served, read)))
    await timed(own, 'checking', () =>
      runToCompletion(unservable(file, success(model, []), served)),
    )
    const { isApplied } = await timed(own, 'applying', () => gateway.apply(model))
    if (!isApplied) throw new Error('the change was not applied')
    await timed(own, 'hashing', () => runCooperatively(rest(model), () => performance.now()))
    served = model
    if (round >= WARM) times.push(own as Times)
  }
  await gateway.drain()
  return times
}

function* rest(model: Model): Generator<void, void> {
  yield* freezeModel(model)
  yield* versionOfModel(model)
}

async function timed<T>(times: Partial<Times>, phase: Phase, work: () => T | Promise<T>) {
  const before = process.cpuUsage()
  const value = await work()
  const { user, system } = process.cpuUsage(before)
  times[phase] = (user + system) * 1_000
  return value
}

function load(text: string, file: string, known: KnownItems) {
  const { result, settings } = loadText(text, file, { environment: {}, known })
  const { value: model } = result
  if (model === undefined || settings === undefined) throw new Error('it was rejected')
  return { model, settings }
}

function route(n: number, hostnames: readonly string[]): string {
  const names = hostnames.map((name) => `    - ${name}\n`)
  return `- name: route-${n}
  matches:
  - path:
      pathPrefix: /service-${n}
${names.length === 0 ? '' : `  hostnames:\n${names.join('')}`}  policies:
    authorization:
      rules:
      - require: request.headers['x-team'] == 'team-${n % 50}'
  backends:
  - backend: up
`
}

function configuration(routes: readonly string[]): string {
  return `config:
  adminAddr: off
  statsAddr: off
  readinessAddr: off
gateways:
  default:
    port: 24173
backends:
- name: up
  host: 127.0.0.1:24174
routes:
${routes.join('')}`
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
