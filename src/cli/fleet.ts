import own from '../../package.json' with { type: 'json' }
import { locate, NO_PLACES, type Places } from '../diagnostics/places.ts'
import { renderOrigin } from '../diagnostics/render.ts'
import type { Model } from '../model/model.ts'
import type { Settings } from '../model/settings.ts'
import { type Applied, Gateway } from '../proxy/gateway.ts'
import type { Revoked } from '../proxy/revoked-keys.ts'
import { endedSessions, ownSignIn } from '../proxy/sign-in-share.ts'
import type { Decided, LogLevel } from '../proxy/worker-messages.ts'
import { type WorkerEnd, Workers } from '../proxy/workers.ts'
import type { Environment } from '../sources/file/expand.ts'
import type { DecisionRecord } from '../telemetry/decision-record.ts'
import type { DecisionQuery, FoundDecisions } from '../telemetry/decision-ring.ts'
import {
  workerExits,
  workerRestarts,
  workers as workersGauge,
} from '../telemetry/definitions/process.ts'
import type { MetricView } from '../telemetry/exposition.ts'
import type { Logger } from '../telemetry/log.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import { watchProcess } from '../telemetry/process-metrics.ts'
import { merge } from '../telemetry/snapshot.ts'
import type { DecisionSinks } from './decision-sinks.ts'
import { locatedRecord } from './located-record.ts'
import { routeSignIn } from './route-sign-in.ts'
import type { Stores } from './stores.ts'
import { openUserTokens } from './user-tokens.ts'
import { workerCount } from './worker-count.ts'

/** The processes that serve: this one, or its workers. */
export interface Fleet {
  readonly size: number
  /** The number of processes that are serving now. */
  serving(): number
  /** If `isStrict` is false, applies the Model part by part: see Gateway.apply. */
  apply(model: Model, isStrict?: boolean, written?: Settings): Promise<Applied>
  /** Applies to all processes, until they stop. */
  setLogLevel(level: LogLevel): void
  /** Propagates ended sessions to other replicas, and learns of theirs. */
  readonly signIn: SignInReplica
  drain(): Promise<void>
  readMetrics(): Promise<Iterable<MetricView>>
  decisions(query: DecisionQuery): Promise<FoundDecisions>
}

export interface SignInReplica {
  share: ((revoked: Revoked) => Promise<void>) | undefined
  learn(revoked: readonly Revoked[]): void
}

export function openMetrics({ metrics }: Settings): Metrics {
  const { histograms, remove, labels } = metrics
  return createMetrics({ histograms, remove, customLabels: Object.keys(labels) })
}

export interface FleetPlaces {
  /** Where this process serves the Admin UI. */
  readonly adminSocket?: string | undefined
  /** Those of the configuration that is served. */
  readonly places?: (() => Places) | undefined
}

/** `file`: the destination of decision records, also of those that workers made. */
export function openFleet(
  settings: Settings,
  log: Logger,
  metrics: Metrics,
  file: Pick<DecisionSinks, 'write' | 'dropped'> | undefined,
  environment: Environment,
  {
    budgets,
    userTokens,
    adminSocket,
    places = () => NO_PLACES,
  }: Partial<Stores> & FleetPlaces = {},
): Fleet {
  const size = workerCount(settings.workers)
  const stop = watchProcess(metrics, { worker: 'main' })
  if (size <= 1) {
    const { version } = own
    const writeDecision = file && ((record: DecisionRecord) => file.write(record))
    const signIn: SignInReplica = { share: undefined, learn: () => {} }
    const { shared, learn } = ownSignIn(() => signIn.share)
    signIn.learn = learn
    const gateway = new Gateway({
      settings,
      log,
      metrics,
      reusePort: false,
      version,
      writeDecision,
      showOrigin: (origin) => renderOrigin(locate(places(), origin)),
      signIn: routeSignIn(shared, environment),
      endedSessions: endedSessions(shared),
      budgets,
      openUserTokens,
      userTokens,
      adminSocket,
    })
    return {
      size: 1,
      serving: () => 1,
      apply: async (model, isStrict, written = settings) => {
        const applied = await gateway.apply(model, isStrict)
        if (applied.isApplied) gateway.updateCatalog(written)
        return applied
      },
      setLogLevel: (level) => log.setLevel(level),
      signIn,
      drain: async () => {
        await gateway.drain()
        await budgets?.close?.()
        await userTokens?.close?.()
        stop()
      },
      readMetrics: async () => metrics.read(),
      decisions: async (query) => ({ records: gateway.decisions(query) }),
    }
  }
  const entry = [process.argv[1] as string, 'worker'] as const
  const decided = ({ records, dropped }: Decided) => {
    for (const record of records) file?.write(locatedRecord(record, places()))
    if (dropped > 0) file?.dropped(dropped)
  }
  const exits = metrics.counter(workerExits)
  const ended = (outcome: WorkerEnd) => exits.at({ outcome }).inc()
  const restarts = metrics.counter(workerRestarts).at({})
  const restarted = () => restarts.inc()
  const kept = { budgets, userTokens, adminSocket }
  const workers = new Workers(entry, settings, size, log, { decided, ended, restarted, ...kept })
  const alive = metrics.gauge(workersGauge).at({})
  metrics.beforeRead(() => alive.set(workers.serving))
  return {
    size,
    serving: () => workers.serving,
    apply: (model, isStrict, written) => workers.apply(model, isStrict, written),
    setLogLevel: (level) => {
      log.setLevel(level)
      workers.setLogLevel(level)
    },
    signIn: workers.signIn,
    drain: async () => {
      await workers.drain()
      await budgets?.close?.()
      await userTokens?.close?.()
      stop()
    },
    readMetrics: async () => merge([metrics.snapshot(), ...(await workers.snapshots())]),
    decisions: async (query) => {
      const found = await workers.decisions(query)
      return { ...found, records: found.records.map((one) => locatedRecord(one, places())) }
    },
  }
}
