import type { Model } from '../model/model.ts'
import type { Settings } from '../model/settings.ts'
import {
  controllerConditions,
  controllerLeader,
  controllerObjects,
  controllerQueueDepth,
  controllerReconcileDuration,
  controllerReconciles,
  controllerStatusWrites,
  controllerWatchRestarts,
} from '../telemetry/definitions/controller.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { KubeClient } from './cluster/client.ts'
import type { InformerDeps } from './cluster/informer.ts'
import { KINDS } from './cluster/kinds.ts'
import { LeaderElection } from './cluster/lease.ts'
import type { Snapshot } from './cluster/snapshot.ts'
import { ClusterWatch } from './cluster/watch-cluster.ts'
import { Debounce } from './debounce.ts'
import type { Delivery } from './delivery.ts'
import type { GatewayDeployments } from './deploy/gateway-deployments.ts'
import { gatewayOfAccount } from './deploy/inputs.ts'
import { deploymentOf, serviceOf } from './deployments.ts'
import { applyClasses } from './gateway-class.ts'
import type { ControllerOptions } from './options.ts'
import { ReadyPods } from './ready-pods.ts'
import { EventWriter } from './status/events.ts'
import { RuleHealth } from './status/health.ts'
import { KnownProxies } from './status/known-proxies.ts'
import { LiveStatuses } from './status/live-statuses.ts'
import type { Proxies } from './status/programmed.ts'
import { Rollouts } from './status/rollouts.ts'
import { SharedProxies } from './status/shared-proxies.ts'
import { StatusWriter } from './status/write.ts'
import { type TranslationStep, Translator } from './translate/translator.ts'

export interface ControllerDeps {
  readonly client: KubeClient
  readonly options: ControllerOptions
  readonly settings: Settings
  readonly delivery: Delivery
  /** Deploys proxies; undefined if they are deployed by other means. */
  readonly deployments?: Pick<GatewayDeployments, 'deploy' | 'failuresOf'>
  readonly log: Logger
  readonly metrics: Metrics
  readonly backoff?: InformerDeps['backoff']
  /** Seconds that the lease of the leader is valid. */
  readonly leaseDuration?: number
}

/** Milliseconds: a single edit takes effect at once, and many in a row cause few translations. */
const TRANSLATE_AFTER = { quiet: 5, max: 50, isEager: true }
const WRITE_AFTER = { quiet: 50, max: 250 }
const RETRY_AFTER = 5_000

/** Watches the cluster, delivers a Model to each Gateway, and writes the status of objects. */
export class Controller {
  readonly #deps: ControllerDeps
  readonly #watch: ClusterWatch
  readonly #leader: LeaderElection
  readonly #health = new RuleHealth()
  readonly #writer: StatusWriter
  readonly #translating: Debounce
  readonly #writing: Debounce
  readonly #published = new Map<string, { readonly model: Model; readonly version: string }>()
  readonly #translator: Translator
  readonly #rollouts = new Rollouts()
  readonly #statuses: LiveStatuses
  readonly #shared: SharedProxies
  readonly #readyPods = new ReadyPods()
  readonly #known = new KnownProxies()
  #last: { readonly snapshot: Snapshot; readonly translation: TranslationStep } | undefined
  #gatewayOf: ReturnType<typeof gatewayOfAccount> = () => undefined
  #retry: NodeJS.Timeout | undefined
  /** Conditions that exist or existed. */
  readonly #counts = new Map<string, number>()

  constructor(deps: ControllerDeps) {
    this.#deps = deps
    const { client, options, settings, log, metrics, backoff, leaseDuration } = deps
    const { controllerName, discoverySelectors, gatewayNamespaces } = options
    this.#translator = new Translator({
      controllerName,
      settings,
      discoverySelectors,
      ...(gatewayNamespaces === undefined ? {} : { gatewayNamespaces }),
    })
    this.#statuses = new LiveStatuses({
      proxiesOf: (gateway) => this.#proxiesOf(gateway),
      latest: (gateway) => this.#rollouts.latest(gateway),
    })
    const { namespace, podName: identity, podUid: uid, watchNamespaces: watched } = options
    this.#shared = new SharedProxies({ client, controllerName, namespace, identity, uid })
    const restarts = metrics.counter(controllerWatchRestarts)
    this.#watch = new ClusterWatch({
      client,
      options,
      namespaces: watched && { watched, own: namespace },
      onChange: () => this.#translating.signal(),
      onRestart: (kind, reason, message) => {
        restarts.at({ kind, reason }).inc()
        if (reason === 'expired' || reason === 'closed') log.debug('watch', { kind, reason })
        else log.warn('watch', { kind, reason, error: message })
      },
      ...(backoff === undefined ? {} : { backoff }),
    })
    const events = new EventWriter({
      client,
      controllerName: options.controllerName,
      instance: options.podName,
      isNamespaced: watched !== undefined,
      onFailure: (message) => log.debug('event', { error: message }),
    })
    const writes = metrics.counter(controllerStatusWrites)
    this.#writer = new StatusWriter({
      client,
      controllerName: options.controllerName,
      versionOf: (kind) => this.#watch.versionOf(kind),
      onWrite: (kind, key, outcome, message) => {
        writes.at({ kind, outcome }).inc()
        if (outcome === 'failed') log.warn('status', { kind, object: key, error: message })
        else log.debug('status', { kind, object: key, outcome })
      },
      onWritten: (live, status) => void events.record(live, status),
    })
    this.#leader = new LeaderElection({
      client,
      namespace: options.namespace,
      name: `portcullis-controller-${options.controllerName.replace(/[^a-z0-9]+/gi, '-').toLowerCase()}`,
      identity: options.podName,
      onChange: (isLeader) => {
        log.info('leader', { leader: isLeader, identity: options.podName })
        if (isLeader) this.#writing.signal()
      },
      onError: (message) => log.warn('leader', { error: message }),
      ...(leaseDuration === undefined ? {} : { duration: leaseDuration }),
    })
    this.#translating = new Debounce(() => this.#translate(), TRANSLATE_AFTER)
    this.#writing = new Debounce(() => this.#write(), WRITE_AFTER)
    metrics.beforeRead(() => this.#measure())
  }

  start(): void {
    this.#watch.start()
    this.#leader.start()
  }

  async stop(): Promise<void> {
    this.#translating.stop()
    this.#writing.stop()
    clearTimeout(this.#retry)
    this.#watch.stop()
    await this.#leader.stop()
  }

  /**
   * Ready when everything is listed and translated once: proxies get only complete configurations.
   */
  get isReady(): boolean {
    return this.#last !== undefined
  }

  /** The names of the kinds that it waits for. */
  get waitingFor(): readonly string[] {
    return this.#watch.waitingFor
  }

  get isLeader(): boolean {
    return this.#leader.isLeader
  }

  /** The Gateway whose proxies use a service account; undefined if there is none. */
  gatewayOf(namespace: string, account: string): string | undefined {
    return this.#gatewayOf(namespace, account)
  }

  /** Called when the state of proxies, or the certificates that they trust, changed. */
  proxiesChanged(): void {
    this.#writing.signal()
  }

  async #translate(): Promise<void> {
    const { log, metrics } = this.#deps
    const reconciles = metrics.counter(controllerReconciles)
    const began = performance.now()
    const snapshot = this.#watch.take()
    try {
      const translation = this.#translator.translate(snapshot)
      const changed = this.#publish(translation)
      this.#statuses.touch(translation.touched)
      this.#statuses.forget(translation.removed)
      this.#last = { snapshot, translation }
      const milliseconds = performance.now() - began
      metrics
        .histogram(controllerReconcileDuration)
        .at({})
        .observe(milliseconds / 1000)
      reconciles.at({ outcome: changed.length > 0 ? 'changed' : 'unchanged' }).inc()
      const count = translation.models.size
      if (changed.length > 0)
        log.info('translate', { gateways: count, changed, milliseconds: Math.round(milliseconds) })
      else log.debug('translate', { gateways: count, milliseconds: Math.round(milliseconds) })
    } catch (error) {
      // The effective configuration stays; the next change may be translatable.
      reconciles.at({ outcome: 'failed' }).inc()
      log.error('translate', { error: (error as Error).stack ?? String(error) })
      return
    }
    this.#writing.signal()
  }

  /** The keys of the Gateways whose Model changed. */
  #publish({ models }: TranslationStep): readonly string[] {
    const { delivery } = this.#deps
    const changed: string[] = []
    for (const [gateway, model] of models) {
      if (this.#published.get(gateway)?.model === model) continue
      const version = delivery.publish(gateway, model)
      this.#published.set(gateway, { model, version })
      this.#rollouts.published(gateway, version)
      changed.push(gateway)
    }
    for (const gateway of [...this.#published.keys()]) {
      if (models.has(gateway)) continue
      this.#published.delete(gateway)
      this.#rollouts.withdrawn(gateway)
      this.#known.forget(gateway)
      delivery.withdraw(gateway)
      changed.push(gateway)
    }
    this.#gatewayOf = gatewayOfAccount(
      [...models.keys()].map((key) => {
        const [namespace = '', name = ''] = key.split('/')
        return { namespace, name }
      }),
    )
    return changed
  }

  async #write(): Promise<void> {
    const { client, options, log, deployments } = this.#deps
    const last = this.#last
    if (last === undefined) return
    const models = new Map([...this.#published].map(([key, { model }]) => [key, model]))
    await this.#health.look(models)
    const { snapshot, translation } = last
    try {
      const { delivery } = this.#deps
      const statesOf = (gateway: string) => delivery.proxies(gateway)
      // The leader knows its own proxies; a state that it published earlier would become outdated.
      const published = this.#leader.isLeader ? [] : this.#published.keys()
      await this.#shared.publish(snapshot, published, statesOf)
      if (!this.#leader.isLeader) return
      this.#shared.look(snapshot)
      const applied = await applyClasses(client, snapshot, options)
      for (const name of applied) log.info('class', { applied: name })
      const isLeader = () => this.#leader.isLeader
      const isDeployed = await deployments?.deploy(snapshot, translation.deployed, isLeader)
      if (isDeployed === false) this.#later()
      this.#statuses.useFindings(this.#health.findings())
      // The statuses are current, and so must the objects be: a status of an object newer than the
      // snapshot above would be dropped.
      const { snapshot: seen } = this.#last ?? last
      this.#readyPods.look(seen)
      const failed = await this.#writer.write(seen, this.#statuses.take())
      if (failed > 0 || this.#statuses.isUnsettled) this.#later()
    } catch (error) {
      log.warn('status', { error: (error as Error).message })
      this.#later()
    }
  }

  #later(): void {
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => this.#writing.signal(), RETRY_AFTER)
    this.#retry.unref()
  }

  #proxiesOf(gateway: string): Proxies | undefined {
    const { delivery, deployments } = this.#deps
    const last = this.#last
    if (last === undefined || !this.#published.has(gateway)) return undefined
    const sequenceOf = (version: string) => this.#rollouts.sequenceOf(gateway, version)
    const connected = this.#shared.of(gateway, delivery.proxies(gateway), sequenceOf)
    const ready = this.#readyPods.of(serviceOf(gateway))
    return {
      ...this.#known.look(gateway, { connected, ready, sequenceOf }),
      deployment: {
        ...deploymentOf(last.snapshot, gateway),
        failures: deployments?.failuresOf(gateway) ?? [],
      },
    }
  }

  #measure(): void {
    const { metrics } = this.#deps
    metrics
      .gauge(controllerLeader)
      .at({})
      .set(this.isLeader ? 1 : 0)
    metrics
      .gauge(controllerQueueDepth)
      .at({})
      .set(this.#translating.isPending ? 1 : 0)
    const objects = metrics.gauge(controllerObjects)
    for (const { kind } of KINDS) objects.at({ kind }).set(this.#watch.count(kind))
    const counts = this.#counts
    for (const id of counts.keys()) counts.set(id, 0)
    const statuses = this.#last?.translation.statuses() ?? []
    for (const { kind, conditions = [], parents = [], ancestors = [] } of statuses) {
      const all = [...conditions, ...[...parents, ...ancestors].flatMap((one) => one.conditions)]
      for (const { type, status } of all) {
        const id = `${kind} ${type} ${status}`
        counts.set(id, (counts.get(id) ?? 0) + 1)
      }
    }
    const gauge = metrics.gauge(controllerConditions)
    for (const [id, count] of counts) {
      const [kind = '', condition = '', status = 'Unknown'] = id.split(' ')
      gauge.at({ kind, condition, status: status as 'True' | 'False' | 'Unknown' }).set(count)
    }
  }
}
