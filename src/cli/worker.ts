import own from '../../package.json' with { type: 'json' }
import { writeOrigin } from '../diagnostics/places.ts'
import { MessageStreams } from '../exchange/message-streams.ts'
import { ProviderPauses } from '../exchange/provider-pauses.ts'
import type { Model } from '../model/model.ts'
import { addedIn, patched } from '../model/model-patch.ts'
import { resolveSecrets } from '../model/secret.ts'
import type { Settings } from '../model/settings.ts'
import { runCooperatively } from '../model/steps.ts'
import { type Batch, DecisionBatch } from '../proxy/decision-batch.ts'
import { Gateway, type GatewayOptions } from '../proxy/gateway.ts'
import { QuotaLeases } from '../proxy/quota-leases.ts'
import type { QuotaOrder } from '../proxy/quota-messages.ts'
import type { SignInOrder } from '../proxy/sign-in-messages.ts'
import { endedSessions, WorkerSignIn } from '../proxy/sign-in-share.ts'
import { WorkerUserTokens } from '../proxy/user-token-share.ts'
import type { Decided, Order, Paused, Report, Streamed } from '../proxy/worker-messages.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { openLog } from '../telemetry/open-log.ts'
import { watchProcess } from '../telemetry/process-metrics.ts'
import { keepsDecisions } from './decision-sinks.ts'
import { openMetrics } from './fleet.ts'
import { outliveErrors } from './outlive-errors.ts'
import { routeSignIn } from './route-sign-in.ts'
import { openUserTokens } from './user-tokens.ts'

const now = () => performance.now()

/** A process that serves what its parent sends; see proxy/workers.ts. */
export function runWorker(number: string): Promise<number> {
  return new Promise((resolve) => {
    let serving: Serving | undefined
    let delivered: Model | undefined
    let applying: Promise<unknown> = Promise.resolve()
    const report = (message: Report) => {
      if (process.connected) process.send?.(message, () => {})
    }
    const quotas = new QuotaLeases({
      send: (message) => {
        if (process.connected) process.send?.(message, () => {})
      },
    })
    const streams = new MessageStreams((message) => {
      const streamed: Streamed = { kind: 'streamed', message }
      if (process.connected) process.send?.(streamed, () => {})
    })
    const pauses = new ProviderPauses((pause) => {
      const paused: Paused = { kind: 'paused', pause }
      if (process.connected) process.send?.(paused, () => {})
    })
    const signIn = new WorkerSignIn((message) => {
      if (process.connected) process.send?.(message, () => {})
    })
    const userTokens = new WorkerUserTokens((message) => {
      if (process.connected) process.send?.(message, () => {})
    })
    let isDraining = false
    const drain = async () => {
      if (isDraining) return
      isDraining = true
      await serving?.gateway.drain()
      await serving?.close()
      quotas.close()
      if (process.connected) process.disconnect?.()
      resolve(0)
    }
    // The terminal signals the whole process group, but the parent decides when to stop.
    process.on('SIGINT', () => {})
    process.on('SIGTERM', () => {})
    process.on('SIGHUP', () => {})
    // Without a parent, no further orders would arrive.
    process.on('disconnect', () => void drain())
    process.on('message', (order: Order) => {
      if (order.kind === 'drain') {
        void drain()
        return
      }
      if (isQuotaOrder(order)) {
        quotas.receive(order)
        return
      }
      if (order.kind === 'streamed') {
        streams.receive(order.message)
        return
      }
      if (order.kind === 'paused') {
        pauses.receive(order.pause)
        return
      }
      if (isSignInOrder(order)) {
        signIn.receive(order, (id) => report({ kind: 'sign-in-known', id }))
        return
      }
      if (order.kind === 'user-token-response') {
        userTokens.receive(order)
        return
      }
      if (order.kind === 'log-level') {
        serving?.log.setLevel(order.level)
        return
      }
      if (order.kind === 'apply') {
        const { revoked } = order
        signIn.receive({ kind: 'sign-in-revoked', id: undefined, revoked }, () => {})
        const opened = routeSignIn(signIn, process.env)
        const users = { signIn: opened, openUserTokens, userTokens }
        const { adminSocket } = order
        const ended = { endedSessions: endedSessions(signIn) }
        const shared = { quotas, streams, pauses, adminSocket, ...ended, ...users }
        serving ??= begin(order.settings, number, order.ticketSecret, shared)
        if (order.logLevel !== undefined) serving.log.setLevel(order.logLevel)
        const { gateway } = serving
        const { patch, secrets, isStrict } = order
        const model = patched(delivered, patch)
        delivered = model
        // In order of arrival, even if one takes longer to prepare.
        const apply = async () => {
          const added = { added: addedIn(patch) }
          if (secrets.size > 0) await runCooperatively(resolveSecrets(added, secrets), now)
          const applied = await gateway.apply(model, isStrict)
          if (applied.isApplied) gateway.updateCatalog(order.settings)
          report({ kind: 'applied', id: order.id, applied, quotas: gateway.quotas })
        }
        const broke = (error: unknown) => {
          serving?.log.error('config', { error: String(error) })
          const applied = { isApplied: false, diagnostics: [] }
          report({ kind: 'applied', id: order.id, applied, quotas: gateway.quotas })
        }
        applying = applying.then(apply).catch(broke)
        return
      }
      if (order.kind === 'decisions') {
        const records = serving?.gateway.decisions(order.query) ?? []
        report({ kind: 'decisions', id: order.id, records })
        return
      }
      const connections = serving?.gateway.connections ?? 0
      report({
        kind: 'snapshot',
        id: order.id,
        snapshot: serving?.metrics.snapshot() ?? [],
        connections,
      })
    })
  })
}

interface Serving {
  readonly gateway: Gateway
  readonly log: Logger
  readonly metrics: Metrics
  readonly close: () => Promise<void>
}

function isQuotaOrder(order: Order): order is QuotaOrder {
  return order.kind.startsWith('quota-')
}

function isSignInOrder(order: Order): order is SignInOrder {
  return order.kind.startsWith('sign-in-')
}

function begin(
  settings: Settings,
  number: string,
  ticketSecret: Uint8Array,
  shared: Pick<
    GatewayOptions,
    | 'quotas'
    | 'streams'
    | 'pauses'
    | 'endedSessions'
    | 'signIn'
    | 'openUserTokens'
    | 'userTokens'
    | 'adminSocket'
  >,
): Serving {
  // Up to this length, writes of several processes to one pipe are not interleaved.
  const { log, sink } = openLog({ ...settings.logging, piece: 4_096 })
  const metrics = openMetrics(settings)
  outliveErrors(log, metrics)
  const stop = watchProcess(metrics, { worker: number })
  const { version } = own
  const batch = keepsDecisions(settings) ? new DecisionBatch(toParent) : undefined
  const gateway = new Gateway({
    settings,
    log,
    metrics,
    reusePort: true,
    worker: { number: Number(number), count: Number(process.env['PORTCULLIS_WORKERS'] ?? 1) },
    ticketSecret,
    version,
    ...shared,
    // Only the parent knows the text of the configuration.
    showOrigin: writeOrigin,
    writeDecision: batch && ((record) => batch.add(record)),
  })
  const close = async () => {
    if (batch !== undefined) await new Promise<void>((done) => batch.flush(done))
    stop()
    sink.close()
  }
  return { gateway, log, metrics, close }
}

/** A single process writes the file, so that there is one chain of records. */
function toParent(batch: Batch, sent: () => void): void {
  const message: Decided = { kind: 'decided', ...batch }
  if (process.connected) process.send?.(message, () => sent())
  else sent()
}
