import type { Source } from '../exchange/connection.ts'
import {
  downstreamConnections,
  downstreamConnectionsActive,
  downstreamConnectionsClosed,
  downstreamReceivedBytes,
  downstreamSentBytes,
  http2Errors,
  http2Floods,
  http2Resets,
  http2ResetsSent,
} from '../telemetry/definitions/downstream.ts'
import { limitHits } from '../telemetry/definitions/limits.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { ConnectionError, Flood, Http2Count, ResetReason } from '../wire/http2/limits.ts'
import { sourceOf } from './access-record.ts'
import type { ResetLog } from './reset-log.ts'
import type { ClosedWord, Serving, WireProtocol } from './serving.ts'

/** The labels of floods in the two metrics that count them. */
const FLOODS = {
  'too-many-resets': ['resets', 'http2-resets'],
  'too-many-pings': ['pings', 'http2-control-frames'],
  'too-many-settings': ['settings', 'http2-control-frames'],
  'too-many-priorities': ['priorities', 'http2-control-frames'],
  'too-many-empty-frames': ['empty-frames', 'http2-control-frames'],
  'too-many-window-updates': ['window-updates', 'http2-overhead'],
  'too-much-overhead': ['overhead', 'http2-overhead'],
  'too-many-header-frames': ['header-frames', 'http2-header-frames'],
  'too-much-unread': ['unread', 'http2-unread'],
} as const satisfies { readonly [flood in Flood]: readonly [kind: string, limit: string] }

/** Counts one client connection while it is served. */
export class ServedSeries implements Serving {
  readonly #metrics: Metrics
  readonly #labels: { readonly listener: string }
  readonly #protocol: WireProtocol
  readonly #resetLog: ResetLog

  constructor(metrics: Metrics, listener: string, protocol: WireProtocol, resetLog: ResetLog) {
    this.#metrics = metrics
    this.#resetLog = resetLog
    this.#labels = { listener }
    this.#protocol = protocol
    metrics.counter(downstreamConnections).of(this.#labels).at(protocol).inc()
    this.#active.inc()
  }

  get #active() {
    return this.#metrics.gauge(downstreamConnectionsActive).of(this.#labels).at(this.#protocol)
  }

  moved(received: number, sent: number): void {
    const series = [downstreamReceivedBytes, downstreamSentBytes].map((definition) =>
      this.#metrics.counter(definition).of(this.#labels).at(this.#protocol),
    )
    series[0]?.inc(received)
    series[1]?.inc(sent)
  }

  counted(what: Http2Count, source?: Source): void {
    const resets = this.#metrics.counter(http2Resets).of(this.#labels)
    if (what === 'client-reset') resets.at('received').inc()
    if (what === 'no-preface') this.#limit('header-timeout')
    if (!(what in FLOODS)) return
    const [kind, limit] = FLOODS[what as Flood]
    this.#metrics.counter(http2Floods).of(this.#labels).at(kind).inc()
    this.#limit(limit)
    this.#resetLog.flooded(this.#labels.listener, kind, source && sourceOf({ source }))
  }

  failed(error: ConnectionError, source?: Source): void {
    this.#metrics.counter(http2Errors).of(this.#labels).at(error).inc()
    this.#resetLog.failed(this.#labels.listener, error, source && sourceOf({ source }))
  }

  reset(reason: ResetReason): void {
    this.#metrics.counter(http2Resets).of(this.#labels).at('sent').inc()
    this.#metrics.counter(http2ResetsSent).of(this.#labels).at(reason).inc()
    if (reason === 'refused') this.#limit('http2-streams')
    this.#resetLog.note(this.#labels.listener, reason)
  }

  closed(reason: ClosedWord): void {
    this.#active.inc(-1)
    const closed = this.#metrics.counter(downstreamConnectionsClosed).of(this.#labels)
    closed.at(this.#protocol, reason).inc()
    if (reason === 'idle') this.#limit('idle-timeout')
  }

  #limit(
    limit: 'http2-streams' | (typeof FLOODS)[Flood][1] | 'header-timeout' | 'idle-timeout',
  ): void {
    this.#metrics.counter(limitHits).of(this.#labels).at(limit).inc()
  }
}
