import { unservable } from '../../src/cli/check-model.ts'
import { NO_PLACES } from '../../src/diagnostics/places.ts'
import { success } from '../../src/diagnostics/result.ts'
import { freezeModel } from '../../src/model/freeze.ts'
import type { Model } from '../../src/model/model.ts'
import { reconcile } from '../../src/model/reconcile.ts'
import { runCooperatively, runToCompletion } from '../../src/model/steps.ts'
import { versionOfModel } from '../../src/model/version.ts'
import { Gateway } from '../../src/proxy/gateway.ts'
import { createLogger } from '../../src/telemetry/log.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { configuration, EDITS, type Edit } from './edits.ts'
import { FORMS, type Form, type Phase, type Times } from './forms.ts'
import { type EditedSource, FILE } from './sources.ts'

/*
 * Runs in a separate process for each form and edit: a gateway has one kind of source, and its
 * code is compiled for that.
 */

const ROUNDS = 40
/** Warm-up rounds: the first ones run cold code. */
const WARM = 10

const { gc } = globalThis

/** Collects as V8 does; the inspector would also collect compiled code and leave it cold. */
async function collect(): Promise<void> {
  if (gc === undefined) throw new Error('start it with --expose-gc')
  void gc()
  // V8 continues in background threads for a while.
  await new Promise((resolve) => setTimeout(resolve, 100))
}

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
  runToCompletion(unservable(FILE, success(first, []), NO_PLACES))
  await gateway.apply(first)
  runToCompletion(versionOfModel(first))
  for (let round = 0; round < ROUNDS; round++) {
    edit(written, round)
    source.write(written)
    const own: Partial<Times> = {}
    const { model: next } = await timed(own, 'reading', () => read(source))
    // Garbage from reading is not charged to the phases that follow.
    await collect()
    const model = await timed(own, 'comparing', () => runToCompletion(reconcile(served, next)))
    await timed(own, 'checking', () =>
      runToCompletion(unservable(FILE, success(model, []), NO_PLACES, served)),
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
  const { result, settings } = source.read()
  const { value: model } = result
  if (model === undefined) throw new Error('it was rejected')
  return { model, settings }
}

const [, , formName, editName = ''] = process.argv
const form = FORMS.find(({ name }) => name === formName)
const edit = EDITS[editName]
if (form === undefined || edit === undefined) throw new Error(`no edit ${editName} of ${formName}`)
process.stdout.write(JSON.stringify(await measure(form, edit)), () => process.exit(0))
