import { Session } from 'node:inspector/promises'
import { unservable } from '../src/cli/check-model.ts'
import { success } from '../src/diagnostics/result.ts'
import { freezeModel } from '../src/model/freeze.ts'
import type { Model } from '../src/model/model.ts'
import { reconcile } from '../src/model/reconcile.ts'
import { runCooperatively, runToCompletion } from '../src/model/steps.ts'
import { versionOfModel } from '../src/model/version.ts'
import { Gateway } from '../src/proxy/gateway.ts'
import { createLogger } from '../src/telemetry/log.ts'
import { createMetrics } from '../src/telemetry/metrics.ts'
import { configuration, EDITS, type Edit, ROUTES } from './change/edits.ts'
import {
  databaseSource,
  deliveredSource,
  type EditedSource,
  FILE,
  fileSource,
} from './change/sources.ts'
import { nanoseconds, type Report } from './report.ts'

/** V8 goes on with it in threads of its own for a while. */
async function collect(): Promise<void> {
  const session = new Session()
  session.connect()
  await session.post('HeapProfiler.collectGarbage')
  session.disconnect()
  await new Promise((resolve) => setTimeout(resolve, 100))
}

const ROUNDS = 40
/** The first ones meet code that is cold. */
const WARM = 10

interface Form {
  readonly name: string
  readonly open: () => EditedSource
  readonly hostnames: (n: number) => readonly string[]
}

const bySuffix = (n: number) => [`app-${n % 500}.example.com`]

/** Where routes are written, and how they are told apart. */
const FORMS: readonly Form[] = [
  { name: 'file, 500 hosts', open: fileSource, hostnames: bySuffix },
  { name: 'file, one host', open: fileSource, hostnames: () => [] },
  { name: 'database, one host', open: databaseSource, hostnames: () => [] },
  { name: 'controller, one host', open: deliveredSource, hostnames: () => [] },
]

const PHASES = ['reading', 'comparing', 'checking', 'applying', 'hashing'] as const
type Phase = (typeof PHASES)[number]

/** CPU time of a change of one route among thousands, in a gateway that serves. */
export async function change(): Promise<Report> {
  const targets: Report['targets'][number][] = []
  const rows: string[][] = []
  for (const form of FORMS) {
    for (const [name, edit] of Object.entries(EDITS)) {
      const times = await measure(form, edit)
      const medians = PHASES.map((phase) => median(times.map((one) => one[phase])))
      const [, ...beyond] = medians
      const total = beyond.reduce((sum, own) => sum + own, 0)
      targets.push({
        what: `${form.name}: ${name}`,
        wanted: '<= 5 ms',
        measured: nanoseconds(total),
        met: total <= 5e6,
      })
      rows.push([name, form.name, ...medians.map(nanoseconds), nanoseconds(total)])
    }
  }
  return {
    intro: [
      `One of ${ROUTES.toLocaleString('en-US')} routes changes, each with a rule of its own; targets are beyond reading. A file is`,
      'read from its first line to its last; routes that are the same, on whatever lines, are not parsed again.',
      'Comparing finds what is the same in both Models. Medians of CPU time of the process, the first changes left',
      'out; RESULTS of `proxy` have the time until a changed file is in effect.',
    ],
    tables: [
      {
        title: 'CPU time of one changed route, by phase',
        columns: ['edit', 'routes', ...PHASES, 'beyond reading'],
        rows,
      },
    ],
    targets,
  }
}

type Times = Record<Phase, number>

async function measure({ open, hostnames }: Form, edit: Edit): Promise<readonly Times[]> {
  const source = open()
  const written = configuration(hostnames)
  source.write(written)
  const { model: first, settings } = read(source)
  if (settings === undefined) throw new Error('there are no settings')
  const gateway = new Gateway({
    settings,
    log: createLogger({ write: () => {}, format: 'text', level: 'error' }),
    metrics: createMetrics(),
    reusePort: false,
  })
  let served = first
  const times: Times[] = []
  runToCompletion(unservable(FILE, success(first, [])))
  await gateway.apply(first)
  runToCompletion(versionOfModel(first))
  for (let round = 0; round < ROUNDS; round++) {
    edit(written, round)
    source.write(written)
    const own: Partial<Times> = {}
    const { model: next, moves } = await timed(own, 'reading', () => read(source))
    // What reading threw away is not charged to what comes after it.
    await collect()
    const model = await timed(own, 'comparing', () =>
      runToCompletion(reconcile(served, next, moves)),
    )
    await timed(own, 'checking', () =>
      runToCompletion(unservable(FILE, success(model, []), served)),
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

function read(source: EditedSource) {
  const { loaded, moves } = source.read()
  const { value: model } = loaded.result
  if (model === undefined) throw new Error('it was rejected')
  return { model, settings: loaded.settings, moves }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
