import { queryObjects } from 'node:v8'
import { unservable } from '../src/cli/check-model.ts'
import { success } from '../src/diagnostics/result.ts'
import { freezeModel } from '../src/model/freeze.ts'
import type { Model } from '../src/model/model.ts'
import { reconcile } from '../src/model/reconcile.ts'
import { runCooperatively, runToCompletion } from '../src/model/steps.ts'
import { versionOfModel } from '../src/model/version.ts'
import { Gateway } from '../src/proxy/gateway.ts'
import { loadText } from '../src/sources/file/load.ts'
import { createLogger } from '../src/telemetry/log.ts'
import { createMetrics } from '../src/telemetry/metrics.ts'
import { nanoseconds, type Report, type Table } from './report.ts'

class Nothing {}
/** To count objects, V8 collects all garbage first. */
const collect = () => void queryObjects(Nothing)

const ROUTES = 5_000
const ROUNDS = 40
/** The first ones meet code that is cold. */
const WARM = 10

/** How routes are told apart. */
const FORMS = [
  { name: '500 hosts', hostnames: (n: number) => [`app-${n % 500}.example.com`] },
  { name: 'one host', hostnames: () => [] },
] as const

const PHASES = ['reading', 'comparing', 'checking', 'applying', 'hashing'] as const
type Phase = (typeof PHASES)[number]

/** CPU time of a change of one route among thousands, in a gateway that serves. */
export async function change(): Promise<Report> {
  const tables: Table[] = []
  const totals: number[] = []
  const rows: string[][] = []
  for (const form of FORMS) {
    const times = await measure(form.hostnames)
    const medians = PHASES.map((phase) => median(times.map((one) => one[phase])))
    const [, , ...beyond] = medians
    const total = beyond.reduce((sum, own) => sum + own, 0)
    totals.push(total)
    rows.push([form.name, ...medians.map(nanoseconds), nanoseconds(total)])
  }
  tables.push({
    title: 'CPU time of one changed route, by phase',
    columns: ['routes by', ...PHASES, 'beyond reading and comparing'],
    rows,
  })
  return {
    intro: [
      `One route of ${ROUTES.toLocaleString('en-US')} changes, each with a rule of its own. The file is read as a whole;`,
      'comparing finds what is the same in both Models, which sources that say what changed need not.',
      'Medians of CPU time of the process, the first changes left out; RESULTS of `proxy` have the',
      'time until a changed file is in effect.',
    ],
    tables,
    targets: totals.map((total, index) => ({
      what: `one changed route, ${FORMS[index]?.name}`,
      wanted: '<= 5 ms',
      measured: nanoseconds(total),
      met: total <= 5e6,
    })),
  }
}

type Times = Record<Phase, number>

async function measure(hostnames: (n: number) => readonly string[]): Promise<readonly Times[]> {
  const file = '/bench/change.yaml'
  const text = (changed: number, round: number) => configuration(hostnames, changed, round)
  const { model: first, settings } = load(text(-1, 0), file)
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
    const written = text((round * 97) % ROUTES, round)
    const own: Partial<Times> = {}
    const { model: read } = await timed(own, 'reading', () => load(written, file))
    // What reading threw away is not charged to what comes after it.
    collect()
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

function load(text: string, file: string) {
  const { result, settings } = loadText(text, file, { environment: {} })
  const { value: model } = result
  if (model === undefined || settings === undefined) throw new Error('it was rejected')
  return { model, settings }
}

function configuration(
  hostnames: (n: number) => readonly string[],
  changed: number,
  round: number,
): string {
  const routes = Array.from({ length: ROUTES }, (_, n) => {
    const names = hostnames(n).map((name) => `    - ${name}\n`)
    return `- name: route-${n}
  matches:
  - path:
      pathPrefix: /${n === changed ? `changed-${round}` : `service-${n}`}
${names.length === 0 ? '' : `  hostnames:\n${names.join('')}`}  policies:
    authorization:
      rules:
      - require: request.headers['x-team'] == 'team-${n % 50}'
  backends:
  - backend: up
`
  })
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
