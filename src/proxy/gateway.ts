import { hkdfSync, randomBytes } from 'node:crypto'
import { type BudgetStore, MemoryBudgets } from '../exchange/budget-store.ts'
import { type EndedSessions, OwnEndedSessions } from '../exchange/ended-sessions.ts'
import type { MessageStreams } from '../exchange/message-streams.ts'
import { ProviderPauses } from '../exchange/provider-pauses.ts'
import type { Quotas } from '../exchange/quota.ts'
import { MemoryUserTokens, type UserTokenStore } from '../exchange/user-token-store.ts'
import type { Backend } from '../model/backend.ts'
import type { Model } from '../model/model.ts'
import { reconcile } from '../model/reconcile.ts'
import type { Settings } from '../model/settings.ts'
import { runCooperatively } from '../model/steps.ts'
import { compileProgramCooperatively, retiredClusters } from '../program/compile.ts'
import type { CompileDeps } from '../program/compile-deps.ts'
import { closeKept, quotasOf, retiredKept } from '../program/kept.ts'
import { ModelPrices } from '../program/model-prices.ts'
import type { ShowOrigin } from '../program/policy-record.ts'
import type { Program } from '../program/program.ts'
import { Streams } from '../program/streams.ts'
import { createRequestId } from '../telemetry/create-request-id.ts'
import type { DecisionRecord } from '../telemetry/decision-record.ts'
import type { DecisionQuery } from '../telemetry/decision-ring.ts'
import { dnsLookups } from '../telemetry/definitions/upstream.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { type ClusterDeps, openCluster } from '../upstream/clusters.ts'
import { Resolver } from '../upstream/dns.ts'
import { type SystemNamesOptions, systemNames } from '../upstream/name-source.ts'
import type { WorkerPlace } from '../upstream/worker-share.ts'
import { Deadlines } from '../wire/deadlines.ts'
import { eventDate } from '../wire/event-clock.ts'
import { Terminators } from '../wire/tls/terminators.ts'
import { TicketKeys } from '../wire/tls/ticket-keys.ts'
import type { AcceptDeps } from './accept-deps.ts'
import { Collectors } from './collectors.ts'
import { ConnectionCounts } from './connection-counts.ts'
import { MeteredSampler } from './decision-sampler.ts'
import { Decisions } from './decisions.ts'
import { Forgetting } from './forget.ts'
import { http2Sessions } from './http2.ts'
import { errorReporter } from './internal-errors.ts'
import { Listeners, type ListenFailure } from './listen.ts'
import { Load } from './load.ts'
import { Observing } from './observe.ts'
import { authenticationDeps, countKept } from './observe-authentication.ts'
import { rateLimitCounter } from './observe-limits.ts'
import { recordCounts, upstreamObserver } from './observe-upstream.ts'
import { ServedCluster } from './served-cluster.ts'
import { streamRouter } from './stream-router.ts'

/** If name servers are configured, no others are queried. */
function namesOf({ servers }: Settings['dns']): SystemNamesOptions {
  return servers === undefined ? {} : { servers, lookup: async () => [] }
}

/** The configured key; otherwise one that the workers of this gateway share until it ends. */
function sealKeyOf({ session }: Settings, shared: Uint8Array = randomBytes(32)): Uint8Array {
  if (session !== undefined) return Buffer.from(session.key.secret, 'hex')
  return new Uint8Array(hkdfSync('sha256', shared, '', 'portcullis seal', 32))
}

/** Data that outlives the process, or that others read, requires a configured key. */
function keepsUnreadable({ session, database, userTokens }: Settings): boolean {
  return session === undefined && (database !== undefined || userTokens.file !== undefined)
}

/** Only a running gateway knows the address: it is no part of a configuration. */
function locatedAdmin(backend: Backend, path: string | undefined): Backend {
  return backend.kind === 'admin' && path !== undefined
    ? { ...backend, kind: 'unix', path }
    : backend
}

/** Thousands of clusters have none. */
const NO_EXPRESSIONS = {}

type Diagnostic = Program['diagnostics'][number]

export interface GatewayOptions {
  readonly settings: Settings
  readonly log: Logger
  readonly metrics: Metrics
  /** Whether several processes listen on the same ports. */
  readonly reusePort: boolean
  /** Which of them this is, for limits that are divided among them. */
  readonly worker?: WorkerPlace
  /** Selects among backends with weights; from 0 to below 1. */
  readonly random?: () => number
  /** Shared by those processes, so that any of them resumes TLS sessions. */
  readonly ticketSecret?: Uint8Array
  /** Where records of decisions go in addition to memory. */
  readonly writeDecision?: ((record: DecisionRecord) => void) | undefined
  /** Limits that this process shares with others. */
  readonly quotas?: Quotas | undefined
  /** How records show where a policy is written; by default, by its part and field. */
  readonly showOrigin?: ShowOrigin
  /** Streams of clients whose requests may reach other processes. */
  readonly streams?: MessageStreams | undefined
  /** Pauses of providers that other processes know of. */
  readonly pauses?: ProviderPauses | undefined
  /** MCP sessions that clients ended at any process; by default, at this one. */
  readonly endedSessions?: EndedSessions | undefined
  /** Sessions of users who sign in on routes. */
  readonly signIn?: NonNullable<CompileDeps['policyDeps']>['signIn']
  /** The usage of budgets, if it is not shared; by default in memory. */
  readonly budgets?: BudgetStore | undefined
  /** Tokens of users for backends; `sealKey` seals them. */
  readonly openUserTokens?: (
    store: UserTokenStore,
    sealKey: Uint8Array,
  ) => NonNullable<NonNullable<CompileDeps['policyDeps']>['userTokens']>
  /** Where these tokens are kept; by default in memory. */
  readonly userTokens?: UserTokenStore | undefined
  /** The socket at which the main process serves the Admin UI, for backends of that kind. */
  readonly adminSocket?: string | undefined
  /** The version of the release, for traces. */
  readonly version?: string
}

export interface Applied {
  readonly isApplied: boolean
  readonly diagnostics: readonly Diagnostic[]
}

/** The running gateway: one Program at a time, and the ports that serve it. */
export class Gateway {
  readonly #listeners: Listeners
  readonly #services: CompileDeps
  readonly #settings: Settings
  readonly #observing: Observing
  readonly #decisions: Decisions
  readonly #collectors: Collectors
  readonly #forgetting: Forgetting
  readonly #load: Load
  /** Open clusters, for the gauges. */
  readonly #open = new Set<ServedCluster>()
  #program: Program | undefined
  #streams: Streams | undefined
  #applying: Promise<unknown> = Promise.resolve()
  readonly #prices = new ModelPrices()

  constructor(options: GatewayOptions) {
    const { settings, log, metrics, reusePort, ticketSecret, version = '' } = options
    // A worker writes origins for its parent, which locates them in records, but not in the log.
    const showInLog = options.worker === undefined ? options.showOrigin : undefined
    const broke = errorReporter(log, metrics, showInLog)
    const deadlines = new Deadlines(undefined, (error) => broke('timer', error))
    const lookups = metrics.counter(dnsLookups).of({})
    const resolver = new Resolver(settings.dns, {
      source: systemNames(namesOf(settings.dns)),
      observe: (outcome) => lookups.at(outcome).inc(),
    })
    const clusterDeps: ClusterDeps = {
      settings: settings.upstream,
      ...(options.worker === undefined ? {} : { worker: options.worker }),
      deadlines,
      resolver,
      observe: (backend) => upstreamObserver(metrics, log, backend),
    }
    metrics.beforeRead(() => {
      for (const cluster of this.#open) recordCounts(metrics, cluster.name, cluster.counts())
      countKept(metrics, this.#program)
      this.#listeners.recordBytes()
    })
    this.#settings = settings
    this.#prices.update(settings.modelCatalog)
    const forget = (cluster: ServedCluster) => this.#open.delete(cluster)
    const sealKey = sealKeyOf(settings, ticketSecret)
    const { openUserTokens, userTokens = new MemoryUserTokens() } = options
    this.#services = {
      openCluster: (named, policies, { target, hashKey, isFailure }) => {
        const backend = locatedAdmin(named, options.adminSocket)
        const hasAny = (target ?? hashKey ?? isFailure) !== undefined
        const expressions = !hasAny
          ? NO_EXPRESSIONS
          : {
              ...(target === undefined ? {} : { target }),
              ...(hashKey === undefined ? {} : { hashKey }),
              ...(isFailure === undefined ? {} : { isFailure }),
            }
        const open = () => openCluster(backend, policies, clusterDeps, expressions)
        const served = new ServedCluster(backend, policies, open, forget)
        this.#open.add(served)
        return served
      },
      watchStep: (policy) => rateLimitCounter(metrics, policy),
      sampler: new MeteredSampler(metrics, settings.decisions.allowed, undefined, broke),
      now: () => performance.now(),
      random: options.random ?? Math.random,
      prices: this.#prices,
      sealKey,
      mcpSessionTtl: settings.mcp.sessionTtl,
      ...(options.streams === undefined ? {} : { streams: options.streams }),
      pauses: options.pauses ?? new ProviderPauses(),
      endedSessions: options.endedSessions ?? new OwnEndedSessions(),
      telemetry: { labels: settings.metrics.labels, hiddenHeaders: settings.sensitiveHeaders },
      policyDeps: {
        ...authenticationDeps(metrics, log),
        ...(options.quotas === undefined ? {} : { quotas: options.quotas }),
        ...(options.signIn === undefined ? {} : { signIn: options.signIn }),
        ...(openUserTokens && {
          userTokens: keepsUnreadable(settings)
            ? () => undefined
            : openUserTokens(userTokens, sealKey),
        }),
        budgets: options.budgets ?? new MemoryBudgets(),
      },
    }
    this.#collectors = new Collectors({ metrics, log, version, grace: settings.drain.max })
    this.#decisions = new Decisions({
      settings: settings.decisions,
      sensitiveHeaders: settings.sensitiveHeaders,
      metrics,
      log,
      write: options.writeDecision,
      ...(options.showOrigin === undefined ? {} : { showOrigin: options.showOrigin }),
    })
    this.#observing = new Observing(metrics, log, this.#collectors, this.#decisions, broke)
    this.#forgetting = new Forgetting(metrics)
    this.#load = new Load(settings.limits)
    this.#load.watch()
    const acceptDeps: AcceptDeps = {
      deadlines,
      load: this.#load,
      counts: new ConnectionCounts(settings.limits, undefined, options.quotas),
      route: streamRouter(() => this.#streams),
      observer: this.#observing,
      nextId: () => createRequestId(eventDate()),
      terminators: new Terminators(new TicketKeys(ticketSecret && Buffer.from(ticketSecret))),
      http2: http2Sessions(deadlines),
    }
    this.#listeners = new Listeners(acceptDeps, {
      host: settings.enableIpv6 ? '::' : '0.0.0.0',
      backlog: 4_096,
      reusePort,
      grace: settings.drain.max,
    })
  }

  get program(): Program | undefined {
    return this.#program
  }

  /** Decisions that this process still has, the newest first. */
  decisions(query: DecisionQuery): readonly DecisionRecord[] {
    return this.#decisions.find(query)
  }

  /** The limits of the running Program that are shared with other processes. */
  get quotas(): readonly string[] {
    return quotasOf(this.#program)
  }

  /** Applies the only part of the settings that a running process follows. */
  updateCatalog({ modelCatalog }: Pick<Settings, 'modelCatalog'>): void {
    this.#prices.update(modelCatalog)
  }

  get connections(): number {
    return this.#listeners.connections
  }

  /**
   * Applies another Model. Requests in progress finish on the Program that they began with. In
   * strict mode, a Model with any error changes nothing; otherwise invalid parts fail closed and
   * are reported, and the rest takes effect.
   */
  apply(model: Model, isStrict = true): Promise<Applied> {
    const applied = this.#applying.then(() => this.#apply(model, isStrict))
    this.#applying = applied.catch(() => {})
    return applied
  }

  async #apply(written: Model, isStrict: boolean): Promise<Applied> {
    const previous = this.#program
    let next: Program | undefined
    try {
      const { now } = this.#services
      const model = await runCooperatively(reconcile(previous?.model, written), now)
      next = await compileProgramCooperatively(model, previous, this.#services)
      const { diagnostics } = next
      if (isStrict && diagnostics.some(({ severity }) => severity === 'error'))
        return this.#giveUp(next, diagnostics)
      const failures = await this.#swap(next, isStrict)
      const all = [...diagnostics, ...failures.map(reported)]
      if (isStrict && failures.length > 0) return this.#giveUp(next, all)
      await this.#swapped(previous, next)
      return { isApplied: true, diagnostics: all }
    } catch (error) {
      this.#observing.broke('swap', error)
      const failed = [brokenSwap(written, error)]
      if (next === undefined) return { isApplied: false, diagnostics: failed }
      // Once assigned, it serves, even if the remaining work failed.
      if (this.#program === next) return { isApplied: true, diagnostics: next.diagnostics }
      return this.#giveUp(next, failed)
    }
  }

  #swap(next: Program, isStrict: boolean): Promise<readonly ListenFailure[]> {
    const commit = () => {
      // Everything that may throw comes before the first assignment.
      const streams = new Streams(next.model, this.#services, this.#streams)
      this.#streams = streams
      this.#program = next
    }
    return this.#listeners.swap(next, { commit, isStrict })
  }

  /** The Program is in effect; an exception from here on is reported, and does not change that. */
  async #swapped(previous: Program | undefined, next: Program): Promise<void> {
    if (previous !== undefined) {
      for (const cluster of retiredClusters(previous, next)) this.#tidy(() => cluster.close())
      this.#tidy(() => closeKept(retiredKept(previous, next)))
    }
    this.#tidy(() => this.#observing.swapped())
    this.#tidy(() => this.#collectors.swapped(next))
    // The remaining work can wait for requests that have arrived meanwhile.
    await new Promise((resolve) => setImmediate(resolve))
    this.#tidy(() => this.#forgetting.swapped(next, this.#streams as Streams))
  }

  #tidy(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#observing.broke('swap', error)
    }
  }

  /** A Program that is not served is closed, except for what it shares with the previous one. */
  #giveUp(next: Program, diagnostics: readonly Diagnostic[]): Applied {
    const previous = this.#program
    const unused = previous === undefined ? next.clusters.values() : retiredClusters(next, previous)
    for (const cluster of unused) cluster.close()
    closeKept(retiredKept(next, previous))
    return { isApplied: false, diagnostics }
  }

  /** Accepts no more connections; resolves when the last one is closed or the time is over. */
  async drain(): Promise<number> {
    await this.#applying
    const cut = await this.#listeners.drain(this.#settings.drain.max)
    for (const cluster of this.#program?.clusters.values() ?? []) cluster.close()
    if (this.#program !== undefined) closeKept(retiredKept(this.#program, undefined))
    this.#streams?.close()
    await this.#collectors.stop()
    this.#load.stop()
    return cut
  }
}

function brokenSwap({ gateways }: Model, error: unknown): Diagnostic {
  const origin = gateways[0]?.origin ?? { kind: 'object', object: 'gateway', field: '' }
  const problem = error instanceof Error ? error.message : String(error)
  return {
    code: 'PC0404',
    severity: 'error',
    message: `cannot apply the configuration: ${problem}`,
    origin,
    hint: 'the gateway keeps the previous configuration; see the log for the cause',
  }
}

function reported({ word, severity, message, hint, origin }: ListenFailure): Diagnostic {
  return { code: word === 'certificate' ? 'PC0402' : 'PC0401', severity, message, hint, origin }
}
