import own from '../../package.json' with { type: 'json' }
import {
  adminResponses,
  type Digests,
  metricsResponses,
  readinessResponses,
  type Status,
} from '../admin/responses.ts'
import { isListening, serve } from '../admin/servers.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { locateAll } from '../diagnostics/places.ts'
import { hasErrors } from '../diagnostics/result.ts'
import { withoutRepeated } from '../diagnostics/without-repeated.ts'
import { freezeModel } from '../model/freeze.ts'
import type { Model } from '../model/model.ts'
import { secretsOf } from '../model/redact.ts'
import { runCooperatively, runToCompletion } from '../model/steps.ts'
import { versionOfModel } from '../model/version.ts'
import { errorReporter } from '../proxy/internal-errors.ts'
import { Reach } from '../reach/reach.ts'
import { brokenOff, FileSource } from '../sources/file/file-source.ts'
import { stampOf } from '../sources/file/file-version.ts'
import { KnownItems } from '../sources/file/known-items.ts'
import { type Loaded, loadFileSteps, loadText } from '../sources/file/load.ts'
import type { FollowedFile } from '../sources/file/watch.ts'
import type { Source } from '../sources/source.ts'
import {
  configApplied,
  configInfo,
  configRejectedParts,
  configReloads,
  configSynchronized,
} from '../telemetry/definitions/configuration.ts'
import { buildInfo, workers } from '../telemetry/definitions/process.ts'
import { logDrops } from '../telemetry/definitions/telemetry.ts'
import { openLog } from '../telemetry/open-log.ts'
import { openAdmin } from './admin-token.ts'
import { banner, startRecord } from './banner.ts'
import { useOfBudgets } from './budgets.ts'
import { loadServable, servable } from './check-model.ts'
import { onlySettings, openController } from './controller-source.ts'
import { cookieSecretProblems } from './cookie-secret.ts'
import { openDecisionFile } from './decision-file.ts'
import { openDecisionSinks } from './decision-sinks.ts'
import { defineCommand, type Terminal } from './define.ts'
import { openEmbedded } from './embedded-storage.ts'
import { startExampleBackend } from './example-backend.ts'
import type { First } from './first-configuration.ts'
import { openFleet, openMetrics } from './fleet.ts'
import { LintApart } from './lint-apart.ts'
import { loadApi, openApi } from './open-api.ts'
import { openExplanations } from './open-explanations.ts'
import { outliveErrors } from './outlive-errors.ts'
import { painter } from './paint.ts'
import { type Apply, followSource, type ReloadOptions } from './reload.ts'
import { restartNeeded } from './restart-needed.ts'
import { shareRevoked } from './route-sign-in.ts'
import { isDemo, RUN_HELP, type RunOptions, runOptionsOf } from './run-options.ts'
import {
  countRejected,
  logErrors,
  logFindings,
  logRejection,
  print,
  reject,
  withWorkers,
} from './run-report.ts'
import { sessionKeyProblems, withSessionKey } from './session-key.ts'
import { stopRequested } from './stop-requested.ts'
import { loadStored, openStorage, storedForLint, withStorage } from './storage.ts'
import { openStores } from './stores.ts'
import { openTools } from './tool-runs.ts'
import { openUi } from './ui-folder.ts'
import { UiSocket } from './ui-socket.ts'
import { openUsage } from './usage.ts'

const EXAMPLE_PORT = 4001
const VERSION = own.version
const now = () => performance.now()
/** Milliseconds; serving comes first. */
const API_PAUSE = 500

export const run = defineCommand({
  name: 'run',
  summary: 'serve a configuration file',
  help: RUN_HELP,
  run: async (args, terminal) => serveFile(runOptionsOf(args, terminal.environment), terminal),
})

/** Serves the file until a signal; that of `portcullis demo` with its backend. */
export async function serveFile(
  { file, isStrict, controller }: RunOptions,
  terminal: Terminal,
): Promise<number> {
  const { environment } = terminal
  const path = file ?? controller.address
  const isExample = isDemo(path)
  const stamp = stampOf(path)
  const known = new KnownItems()
  const loaded =
    file === undefined
      ? loadText('gateways: {}', path, { environment })
      : runToCompletion(loadFileSteps(path, { environment, known }))
  const read = runToCompletion(servable(path, loaded.result, { isStrict, places: loaded.places }))
  const missing = [
    ...cookieSecretProblems(loaded.settings, environment),
    ...sessionKeyProblems(environment),
    ...(controller && read.value ? onlySettings(path, read.value) : []),
  ]
  const diagnostics = [...read.diagnostics, ...missing]
  const settings = withSessionKey(loaded.settings, environment)
  const model = hasErrors(isStrict ? diagnostics : missing) ? undefined : read.value
  if (model === undefined || settings === undefined) return reject(diagnostics, terminal)
  const example = isExample ? await startExampleBackend(EXAMPLE_PORT, path) : undefined
  if (example !== undefined && 'code' in example) return reject([example], terminal)
  // Without the edits, this is a different configuration: nothing is served until they are known.
  const embedded = example === undefined ? undefined : await openEmbedded(terminal)
  const forced = embedded?.settings ?? {}
  const all = { ...settings, ...forced }
  const isBaseline = controller === undefined && all.storage.mode === 'database'
  const code = await serveUntilStopped(
    { path, stamp },
    {
      model: isBaseline ? NO_MODEL : model,
      announced: model,
      settings: all,
      forced,
      diagnostics,
      isStrict,
      controller,
      known,
    },
    loaded,
    embedded === undefined ? terminal : { ...terminal, environment: embedded.environment },
  )
  await embedded?.stop()
  example?.close()
  example?.closeAllConnections()
  return code
}

const NO_MODEL: Model = { gateways: [], routes: [], tcpRoutes: [], backends: [], frontend: [] }

async function serveUntilStopped(
  main: FollowedFile,
  served: First,
  { files: named, digest: firstDigest, places: firstPlaces }: Loaded,
  terminal: Terminal,
): Promise<number> {
  const { path: file } = main
  const { model: first, announced, settings, forced, isStrict, controller, known } = served
  const { diagnostics: warnings } = served
  const { environment } = terminal
  let reload = () => {}
  const metrics = openMetrics(settings)
  const { log, sink } = openLog({ ...settings.logging, drops: metrics.counter(logDrops).at({}) })
  metrics.gauge(buildInfo).at({ version: VERSION, commit: 'unknown', node: process.version }).set(1)
  const kept = await openDecisionFile(file, settings, log, metrics)
  if (kept !== undefined && 'code' in kept) {
    sink.close()
    return reject([...warnings, kept], terminal)
  }
  const records = await openDecisionSinks(kept, settings, log, metrics)
  const stores = await openStores(file, settings, log)
  if ('code' in stores) {
    await records?.close()
    sink.close()
    return reject([...warnings, stores], terminal)
  }
  outliveErrors(log, metrics)
  const broke = (error: unknown) => errorReporter(log, metrics)('admin', error)
  const ui = new UiSocket()
  let places = firstPlaces
  const shared = { ...stores, adminSocket: ui.path, places: () => places }
  const fleet = openFleet(settings, log, metrics, records, environment, shared)
  metrics.gauge(workers).at({}).set(fleet.size)
  let status: Status = {
    isReady: false,
    detail: 'starting',
    model: undefined,
    settings,
    diagnostics: warnings,
    findings: undefined,
  }
  const usage = await openUsage(settings, fleet, () => status.model, log)
  const apply: Apply = async (model, isStrict, written, next) => {
    const open = ui.problems(model)
    if (open.length > 0 && isStrict !== false) return { isApplied: false, diagnostics: open }
    await ui.prepare(model)
    const { isApplied, diagnostics } = await fleet.apply(model, isStrict, written)
    if (isApplied) places = next
    if (isApplied && !('code' in storage)) storage.validator.served(model, diagnostics)
    return { isApplied, diagnostics: [...open, ...diagnostics] }
  }
  const storage = await openStorage({
    file,
    environment: terminal.environment,
    settings,
    log,
    metrics,
    changed: () => reload(),
  })
  const access =
    'code' in storage
      ? [storage]
      : await openAdmin({ file, settings, store: storage.store, log, terminal })
  if ('code' in storage || !('authenticate' in access)) {
    await fleet.drain()
    await records?.close()
    sink.close()
    return reject([...warnings, ...(access as readonly Diagnostic[])], terminal)
  }
  const { authenticate, names } = access
  const { store } = storage
  if (store !== undefined) shareRevoked(store, fleet, log)
  // Before the first request: a start that fails has served none.
  const digests: Digests = { served: firstDigest, rejected: undefined }
  // Once readiness is visible, a stop may be requested.
  const stopped = stopRequested(() => reload())
  const at = (field: string) => ({ kind: 'object', object: file, field }) as const
  const secrets = secretsOf(terminal.environment)
  const { configuration } = storage
  const findUi = openUi()
  const api = openApi(
    {
      version: VERSION,
      status: () => withStorage(withWorkers(status, fleet), storage),
      find: (query) => records?.find(query, fleet.decisions) ?? fleet.decisions(query),
      readMetrics: fleet.readMetrics,
      usageOf: usage.find,
      budgetUse: (policy) => useOfBudgets(stores, policy, Date.now()).catch(() => undefined),
      configuration,
      runTool: openTools(terminal),
      explain: openExplanations({
        status: () => status,
        places: () => places,
        configuration,
        now,
      }),
      log: { ...log, setLevel: fleet.setLogLevel },
      secrets,
    },
    access,
  )
  ui.open({ api, findUi, access, model: () => status.model, broke })
  const opened = await Promise.all([
    serve(
      settings.admin,
      adminResponses(() => status, secrets, authenticate, findUi),
      at('config.adminAddr'),
      broke,
      true,
      api,
      names,
    ),
    serve(settings.stats, metricsResponses(fleet.readMetrics), at('config.statsAddr'), broke),
    serve(
      settings.readiness,
      readinessResponses(() => withStorage(withWorkers(status, fleet), storage), digests),
      at('config.readinessAddr'),
      broke,
    ),
  ])
  const servers = opened.filter(isListening)
  const listenErrors = opened.flatMap((one) => (one === undefined || isListening(one) ? [] : one))
  if (listenErrors.length > 0) {
    for (const server of servers) server.close()
    await fleet.drain()
    await records?.close()
    sink.close()
    return reject(listenErrors, terminal)
  }
  const applied = await apply(first, isStrict, undefined, firstPlaces)
  const firstFound = locateAll(firstPlaces, applied.diagnostics)
  if (!applied.isApplied) {
    for (const server of servers) server.close()
    await fleet.drain()
    await records?.close()
    sink.close()
    return reject([...warnings, ...firstFound], terminal)
  }
  const linting = new LintApart({
    file,
    environment,
    stored: store && (() => storedForLint(store)),
    found: (findings) => {
      status = { ...status, findings, earlierFindings: undefined }
      logFindings(findings, log)
    },
    failed: (error) => log.warn('lint', { error }),
  })
  const report = (model: Model, diagnostics: readonly Diagnostic[], parts: number) => {
    const earlierFindings = status.findings ?? status.earlierFindings
    const unknown = { findings: undefined, earlierFindings }
    status = { ...status, isReady: true, detail: 'ready', model, diagnostics, ...unknown }
    metrics.gauge(configRejectedParts).at({}).set(parts)
    const synchronized = parts === 0 ? 1 : 0
    metrics.gauge(configSynchronized).at({}).set(synchronized)
    logErrors(diagnostics, log)
    const seconds = Date.now() / 1000
    metrics.gauge(configApplied).at({}).set(seconds)
    print(diagnostics, terminal)
    // The controller already knows the errors of its policies.
    if (controller === undefined) linting.ask()
  }
  // Frozen after serving has started, so that it does not delay requests.
  const logHash = async (model: Model) => {
    await runCooperatively(freezeModel(model), now)
    const hash = await runCooperatively(versionOfModel(model, settings), now)
    if (status.model !== model) return
    metrics.gauge(configInfo).clear()
    metrics.gauge(configInfo).at({ hash }).set(1)
  }
  if (controller !== undefined) {
    status = { ...status, detail: `waiting for the controller at ${controller.address}` }
  } else if (store !== undefined) status = { ...status, detail: 'waiting for the database' }
  else {
    const parts = countRejected(first, [...warnings, ...applied.diagnostics])
    report(first, [...warnings, ...withoutRepeated(warnings, firstFound)], parts)
  }
  const reloads = metrics.counter(configReloads)
  const followed = () =>
    new FileSource({
      main,
      files: named,
      load: () =>
        store === undefined
          ? loadServable(file, environment, { before: status.model, isStrict, known })
          : loadStored(storage, file, environment, status.model),
      isStrict: isStrict && store === undefined,
    })
  const source: Source =
    controller === undefined ? followed() : await openController(controller, log)
  const following: ReloadOptions = {
    apply,
    applied: async (model, diagnostics, { digest, settings: written = settings, rejected }) => {
      reloads.at({ outcome: 'applied' }).inc()
      Object.assign(digests, { served: digest, rejected: undefined })
      const late = restartNeeded(file, settings, { ...written, ...forced })
      // All other settings take effect after a restart.
      status = { ...status, settings: { ...settings, modelCatalog: written.modelCatalog } }
      report(model, [...diagnostics, ...late], rejected)
      log.info('config', { file, outcome: 'applied' })
      for (const { message } of late) log.warn('config', { file, message })
      await logHash(model)
    },
    rejected: (diagnostics, digest) => {
      Object.assign(digests, { rejected: digest })
      reloads.at({ outcome: 'rejected' }).inc()
      metrics.gauge(configSynchronized).at({}).set(0)
      status = { ...status, diagnostics }
      print(diagnostics, terminal)
      logRejection(file, diagnostics, log)
    },
    broke: (error, digest) => following.rejected([brokenOff(file, error)], digest),
    unreported: broke,
  }
  reload = () => source.refresh()
  store?.start()
  const stopping = new AbortController()
  void followSource(source, following, stopping.signal).catch(broke)
  if (store === undefined) void logHash(first)
  // Loads the API early if edits can be stored, so that the first edit does not wait for it.
  void store?.known.then(() => setTimeout(loadApi, API_PAUSE).unref())

  const serving = { file, model: announced, settings, workers: fleet.size, version: VERSION }
  if (terminal.width !== undefined) terminal.err(banner(serving, painter(terminal.colour)))
  const ports = [...new Reach(announced).ports]
  log.info('portcullis', { ...startRecord(serving), ports, message: 'serving' })
  await stopped
  // Readiness ends first, so that no new traffic arrives while remaining requests complete.
  status = { ...status, isReady: false, detail: 'draining' }
  log.info('portcullis', { message: 'draining' })
  await new Promise((done) => setTimeout(done, settings.drain.min))
  // A configuration read now would reopen the drained listeners.
  stopping.abort()
  await store?.close()
  await usage.sample()
  await fleet.drain()
  await usage.close()
  await records?.close()
  linting.close()
  for (const server of servers) server.close()
  for (const server of servers) server.closeAllConnections()
  await ui.close()
  log.info('portcullis', { message: 'stopped' })
  await new Promise<void>((done) => sink.flush(done))
  sink.close()
  return 0
}
