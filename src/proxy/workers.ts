import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { BudgetStore } from '../exchange/budget-store.ts'
import { ProviderPauses } from '../exchange/provider-pauses.ts'
import { MemoryUserTokens, type UserTokenStore } from '../exchange/user-token-store.ts'
import type { Model } from '../model/model.ts'
import { addedIn, patchBetween } from '../model/model-patch.ts'
import { secretsIn } from '../model/secret.ts'
import type { Settings } from '../model/settings.ts'
import {
  type DecisionQuery,
  type FoundDecisions,
  selectDecisions,
} from '../telemetry/decision-ring.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Snapshot } from '../telemetry/snapshot.ts'
import type { Applied } from './gateway.ts'
import type { QuotaReport } from './quota-messages.ts'
import { QuotaOwner } from './quota-owner.ts'
import { RestartDelays } from './restart-delays.ts'
import type { SignInReport } from './sign-in-messages.ts'
import { SignInOwner } from './sign-in-owner.ts'
import { StderrTail } from './stderr-tail.ts'
import type { UserTokenReport } from './user-token-messages.ts'
import { serveUserTokens } from './user-token-share.ts'
import type { Decided, LogLevel, Order, Paused, Report, Streamed } from './worker-messages.ts'

/** If this many workers exit on a change, one after another, the change is the cause. */
const MAX_EXITS = 3
/** Milliseconds that a scrape waits for a busy worker. */
const TIMEOUT_MS = 1_000

interface Worker {
  readonly number: number
  /** Never that of another worker, unlike its number. */
  readonly serial: number
  readonly child: ChildProcess
  readonly stderr: StderrTail
  readonly startedAt: number
  /** It serves the running configuration. */
  isServing: boolean
  /** What was sent to it last: the next patch contains the difference. */
  delivered: Model | undefined
}

/** How a worker ended: on request, by itself, or because it could not apply the configuration. */
export type WorkerEnd = 'stopped' | 'crashed' | 'not-applied'

/** What is reported to the owner of the workers, and what it stores for them. */
export interface WorkersOptions {
  readonly decided?: (decided: Decided) => void
  readonly ended?: (outcome: WorkerEnd) => void
  /** A worker was started in place of one that exited. */
  readonly restarted?: () => void
  readonly budgets?: BudgetStore | undefined
  readonly userTokens?: UserTokenStore | undefined
  /** Where this process serves the Admin UI. */
  readonly adminSocket?: string | undefined
}

/**
 * Processes that share the ports. The parent reads the configuration and sends it to them; a crash
 * affects only the worker's own connections, and the worker is replaced.
 */
export class Workers {
  readonly #entry: readonly [string, ...string[]]
  #settings: Settings
  readonly #count: number
  readonly #log: Logger
  readonly #onDecided: (decided: Decided) => void
  readonly #onEnded: (outcome: WorkerEnd) => void
  readonly #onRestarted: () => void
  readonly #workers = new Map<number, Worker>()
  readonly #waiting = new Map<number, (report: Report | undefined) => void>()
  readonly #ticketSecret = randomBytes(32)
  readonly #adminSocket: string | undefined
  readonly #quotas: QuotaOwner
  readonly #pauses = new ProviderPauses()
  readonly #userTokens: UserTokenStore
  /** The state of sign-ins that the workers share. */
  readonly signIn = new SignInOwner({
    send: (serial, order) => this.#sendTo(serial, order),
    sendAll: async (revoked) => {
      await this.#callAll((id) => ({ kind: 'sign-in-revoked', id, revoked }))
    },
  })
  /** Workers that are killed because they could not apply the configuration. */
  readonly #rejected = new Set<number>()
  readonly #delays = new RestartDelays()
  readonly #restarts = new Set<NodeJS.Timeout>()
  /** The numbers of workers that were started at least once. */
  readonly #started = new Set<number>()
  #serials = 0
  #model: Model | undefined
  #isStrict = true
  #logLevel: LogLevel | undefined
  #ids = 0
  #isDraining = false

  /** `entry`: the script and the arguments that make a process a worker. */
  constructor(
    entry: readonly [string, ...string[]],
    settings: Settings,
    count: number,
    log: Logger,
    { decided, ended, restarted, budgets, userTokens, adminSocket }: WorkersOptions = {},
  ) {
    this.#adminSocket = adminSocket
    this.#userTokens = userTokens ?? new MemoryUserTokens()
    this.#quotas = new QuotaOwner({
      workers: () => this.#count,
      send: (serial, order) => {
        const worker = [...this.#workers.values()].find((own) => own.serial === serial)
        return worker !== undefined && send(worker.child, order)
      },
      budgets,
    })
    this.#onDecided = decided ?? (() => {})
    this.#onEnded = ended ?? (() => {})
    this.#onRestarted = restarted ?? (() => {})
    this.#entry = entry
    this.#settings = settings
    this.#count = count
    this.#log = log
  }

  /** How many of them serve the running configuration. */
  get serving(): number {
    let count = 0
    for (const { isServing } of this.#workers.values()) if (isServing) count++
    return count
  }

  /**
   * Applies to all of them or none: if the first one rejects a change, the others do not receive
   * it. Another worker that does not apply it after all is replaced: it would use rules that are no
   * longer in effect. Throws if workers exit, one after another, while they apply it.
   */
  async apply(model: Model, isStrict = true, written?: Settings): Promise<Applied> {
    let first = this.#first()
    const before = this.#settings
    // All other settings take effect after a restart.
    const { modelCatalog } = written ?? before
    this.#settings = { ...before, modelCatalog }
    let applied = await this.#apply(first, model, isStrict)
    for (let exits = 1; applied.hasExited && !this.#isDraining; exits++) {
      if (exits === MAX_EXITS) {
        this.#settings = before
        throw new Error(`${exits} workers exited while they applied the change`)
      }
      first = this.#first()
      applied = await this.#apply(first, model, isStrict)
    }
    if (!applied.isApplied) {
      this.#settings = before
      return applied
    }
    this.#model = model
    this.#isStrict = isStrict
    // Those that exist now: one that started meanwhile was sent the previous configuration.
    const others = [...this.#workers.values()].filter((worker) => worker !== first)
    const all = await Promise.all(others.map((worker) => this.#applyOrEnd(worker, model)))
    this.#quotas.retain(new Set([applied, ...all].flatMap(({ quotas }) => quotas)))
    return applied
  }

  /** Starts missing workers, and returns the first. */
  #first(): Worker {
    while (this.#workers.size < this.#count) this.#start(this.#freeNumber())
    const [first] = this.#workers.values()
    return first as Worker
  }

  /** The metrics of each worker, without those that do not respond in time. */
  async snapshots(): Promise<readonly Snapshot[]> {
    const reports = await this.#callAll((id) => ({ kind: 'snapshot', id }))
    return reports.flatMap((report) => (report?.kind === 'snapshot' ? [report.snapshot] : []))
  }

  /** The decisions of all workers. */
  async decisions(query: DecisionQuery): Promise<FoundDecisions> {
    const reports = await this.#callAll((id) => ({ kind: 'decisions', id, query }))
    const records = reports.flatMap((report) =>
      report?.kind === 'decisions' ? report.records : [],
    )
    const missing = reports.filter((report) => report === undefined).length
    return {
      records: selectDecisions(records, query),
      ...(missing === 0 ? {} : { incomplete: `${missing} workers did not respond` }),
    }
  }

  #sendTo(serial: number, order: Order): boolean {
    const worker = [...this.#workers.values()].find((own) => own.serial === serial)
    return worker !== undefined && send(worker.child, order)
  }

  #callAll(order: (id: number) => Order): Promise<readonly (Report | undefined)[]> {
    const workers = [...this.#workers.values()]
    return Promise.all(workers.map((worker) => this.#ask(worker, order, TIMEOUT_MS)))
  }

  /** In effect until they stop; also for workers that start later. */
  setLogLevel(level: LogLevel): void {
    this.#logLevel = level
    for (const { child } of this.#workers.values()) send(child, { kind: 'log-level', level })
  }

  /** Lets every worker finish its requests; resolves when all have exited. */
  async drain(): Promise<void> {
    this.#isDraining = true
    for (const restart of this.#restarts) clearTimeout(restart)
    const gone = [...this.#workers.values()].map(
      ({ child }) => new Promise<void>((resolve) => child.once('exit', () => resolve())),
    )
    for (const { child } of this.#workers.values()) send(child, { kind: 'drain' })
    await Promise.all(gone)
  }

  #freeNumber(): number {
    let number = 0
    while (this.#workers.has(number)) number++
    return number
  }

  #start(number: number): Worker {
    const [script, ...args] = this.#entry
    const child = fork(script, args, {
      env: {
        ...process.env,
        PORTCULLIS_WORKER: String(number),
        PORTCULLIS_WORKERS: String(this.#count),
      },
      serialization: 'advanced',
      stdio: ['inherit', 'inherit', 'pipe', 'ipc'],
    })
    if (this.#started.has(number)) this.#onRestarted()
    this.#started.add(number)
    const stderr = new StderrTail(child.stderr as Readable)
    const serial = ++this.#serials
    const startedAt = performance.now()
    const delivered = undefined
    const worker: Worker = { number, serial, child, stderr, startedAt, isServing: false, delivered }
    this.#workers.set(number, worker)
    for (const pause of this.#pauses.left) send(child, { kind: 'paused', pause })
    child.on('message', (report: FromWorker) => {
      if (report.kind === 'streamed') {
        for (const other of this.#workers.values()) {
          if (other !== worker) send(other.child, report)
        }
        return
      }
      if (report.kind === 'paused') {
        this.#pauses.receive(report.pause)
        for (const other of this.#workers.values()) {
          if (other !== worker) send(other.child, report)
        }
        return
      }
      if (report.kind === 'quota') {
        this.#quotas.report(serial, report)
        return
      }
      if (report.kind === 'sign-in') {
        this.signIn.report(serial, report)
        return
      }
      if (report.kind === 'user-token') {
        void serveUserTokens(this.#userTokens, report).then((order) => send(child, order))
        return
      }
      if (report.kind === 'decided') {
        this.#onDecided(report)
        return
      }
      const waiting = this.#waiting.get(report.id)
      this.#waiting.delete(report.id)
      waiting?.(report)
    })
    child.on('exit', (code, signal) => this.#gone(worker, signal ?? String(code)))
    child.on('error', (error) =>
      this.#log.error('worker', { worker: number, error: error.message }),
    )
    return worker
  }

  #gone(worker: Worker, reason: string): void {
    this.#workers.delete(worker.number)
    this.#quotas.ended(worker.serial)
    this.signIn.ended(worker.serial)
    const isRejected = this.#rejected.delete(worker.serial)
    this.#onEnded(this.#isDraining ? 'stopped' : isRejected ? 'not-applied' : 'crashed')
    if (this.#isDraining) return
    if (!isRejected) void this.#logExit(worker, reason)
    if (this.#model === undefined) return
    const delay = this.#delays.after(worker.number, performance.now() - worker.startedAt)
    const restart = setTimeout(() => {
      this.#restarts.delete(restart)
      const isTaken = this.#workers.has(worker.number)
      if (isTaken || this.#model === undefined) return
      void this.#applyOrEnd(this.#start(worker.number), this.#model)
    }, delay)
    this.#restarts.add(restart)
  }

  /** With what it wrote last, such as the reason why V8 aborted it. */
  async #logExit({ number, stderr }: Worker, reason: string): Promise<void> {
    const error = 'the worker exited'
    this.#log.error('worker', { worker: number, error, reason, stderr: await stderr.read() })
  }

  /** A worker that cannot apply what the others serve is of no use: it is reported and replaced. */
  async #applyOrEnd(worker: Worker, model: Model): Promise<AppliedBy> {
    const applied = await this.#apply(worker, model, this.#isStrict)
    const isThere = this.#workers.get(worker.number) === worker
    if (!applied.isApplied && isThere && !this.#isDraining) {
      const error = 'the worker could not apply the configuration'
      const cause = applied.diagnostics.find(({ severity }) => severity === 'error')
      this.#log.error('worker', { worker: worker.number, error, detail: cause?.message })
      this.#rejected.add(worker.serial)
      worker.child.kill('SIGKILL')
    }
    return applied
  }

  async #apply(worker: Worker, model: Model, isStrict: boolean): Promise<AppliedBy> {
    const patch = patchBetween(worker.delivered, model)
    worker.delivered = model
    const report = await this.#ask(worker, (id) => ({
      kind: 'apply',
      id,
      settings: this.#settings,
      patch,
      secrets: secretsIn({ added: addedIn(patch) }),
      isStrict,
      ticketSecret: this.#ticketSecret,
      adminSocket: this.#adminSocket,
      revoked: this.signIn.revoked(),
      ...(this.#logLevel === undefined ? {} : { logLevel: this.#logLevel }),
    }))
    if (report?.kind !== 'applied') {
      return { isApplied: false, diagnostics: [], quotas: [], hasExited: true }
    }
    // A worker that rejects a change keeps the previous configuration, as all of them do.
    worker.isServing ||= report.applied.isApplied
    return { ...report.applied, quotas: report.quotas }
  }

  /** Undefined: the worker exited, or did not respond in time. */
  #ask(
    worker: Worker,
    order: (id: number) => Order,
    timeout?: number,
  ): Promise<Report | undefined> {
    const id = ++this.#ids
    return new Promise((resolve) => {
      const timer = timeout === undefined ? undefined : setTimeout(() => settle(undefined), timeout)
      const ended = () => settle(undefined)
      const settle = (report: Report | undefined) => {
        clearTimeout(timer)
        worker.child.off('exit', ended)
        this.#waiting.delete(id)
        resolve(report)
      }
      this.#waiting.set(id, settle)
      worker.child.once('exit', ended)
      if (!send(worker.child, order(id))) ended()
    })
  }
}

type FromWorker =
  | Report
  | Decided
  | Streamed
  | Paused
  | QuotaReport
  | SignInReport
  | UserTokenReport

interface AppliedBy extends Applied {
  readonly quotas: readonly string[]
  /** The worker exited, which says nothing about the change. */
  readonly hasExited?: boolean
}

/** Returns false if the worker is gone. */
function send(child: ChildProcess, order: Order): boolean {
  if (child.connected) child.send(order, () => {})
  return child.connected
}
